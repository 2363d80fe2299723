"""What an English sentence is not: words that only introduce; signs of a question, guess, wish, quotation or order.

Closed classes of English grammar: interrogatives and inverted auxiliaries, modals of doubt, verbs of saying, adverbs of
the moment.  `english` asks these first; each name says what it tells.
"""

from __future__ import annotations

import re

LEAD = re.compile(
    r"(?:(?:ok(?:ay)?|alright|all right|right|well|so|and|but|also|then|oh|ah|aha|hey|hi|hello|thanks(?: a lot"
    r"| so much)?"
    r"|thank you|great|cool|nice|good (?:point|catch|idea|question)|by the way|btw|one more thing|another thing|sorry"
    r"|apologies|hmm+|um+|yes|yeah|yep|sure|fine|perfect|agreed|in that case|look|listen|quick note|for context|anyway"
    r"|oh and|ps|p\.s\.?|update|heads[- ]up|on second thought|good news|bad news|honestly|personally|in general"
    r"|generally(?: speaking)?|after (?:some|much|a lot of|long) \w+|in the end|ultimately|overall|for me|to be clear"
    r"|as i said|and yes)\s*(?:[,:;!.…—–-]+\s*|(?<=so)\s|(?<=and)\s|(?<=but)\s|(?<=also)\s|(?<=then)\s|(?<=okay)\s"
    r"|(?<=ok)\s"
    r"|(?<=well)\s|(?<=hey)\s|(?<=sorry)\s|(?<=general)\s|(?<=update)\s|(?<=btw)\s|(?<=yes)\s|(?<=yeah)\s)"
    r"|(?:please|pls|kindly|just)\s+)+"
)
MEMO = re.compile(
    r"(?:i(?:'d| would)? (?:want|need|like) you to |(?:can|could|would|will) you |make sure (?:you|to) |always |also )?"
    r"(?:remember|note|keep in mind|bear in mind|don't forget|do not forget|make a note|take note|be aware|mind you"
    r"|note to self|for (?:the record|future reference|your information|your reference|next time)"
    r"|just so you know|so you know|fyi|you should know|i should (?:mention|add|say)|it's worth (?:noting|knowing)"
    r"|worth (?:noting|knowing|remembering)|important|save (?:this|that)|store (?:this|that)|add to (?:your )?memory)"
    r"(?:\s+(?:to (?:your )?memory|of this|for (?:later|next time|the future|future reference)|this|also|please))*"
    r"\s*(?:[:,;—–-]\s*|that\s+|\s(?=(?:i|i'm|i've|we|we're|our|my|the|all|he|she|they|it|you|there|no|only|every"
    r"|any|to)\b))"
)
MEMO_ALONE = re.compile(r"(?:remember|note|keep in mind|for the record|fyi|important)\b[^.]{0,40}[:.]?$")
QUESTION = re.compile(
    r"(?:who|whom|whose|what|which|where|when|why|how)(?:'s|'re|'d|'ll)?\b(?!ever\b)(?! (?:a|an) \w+[.!])"
    r"|(?:is|are|was|were|does|did|can|could|should|would|am|isn't|aren't|wasn't|weren't|doesn't|didn't|shouldn't)"
    r" (?!not\b)\w|will (?!not\b|be\b|\w+s\b)\w"
    r"|(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must|isn't|aren't"
    r"|wasn't"
    r"|weren't|don't|doesn't|didn't|hasn't|haven't|can't|couldn't|won't|wouldn't|shouldn't)"
    r" (?:i|you|we|they|he|she|it|this|that|these|those|there|the|a|an|my|your|our|their|his|her|its|any|all|some|every"
    r"|someone|anyone|everybody|people|one)\b(?! know\b)"
    r"|.*\b(?:what|when|how (?:much|many|long|far|often)|where|who|why|which one)[.! ]*$"
    r"|any (?:idea|chance|news|thoughts|suggestions|reason|way)\b|got (?:any|a)\b|want to know\b|tell me\b|do you\b"
)
POLITE = re.compile(
    r"(?:can|could|would|will) you (?:please |always |maybe |just )*|would you mind |is it possible to "
    r"|may i ask you to "
)
HYPOTHETICAL = re.compile(
    r"(?:if (?!you (?!were|could|would)|there's|there is|possible|the|a |an |any|something|anything|tests?|ci\b|it)"
    r"|suppose|supposing|imagine|assume(?! (?:that )?i\b)|assuming|let's (?:say|assume|pretend|imagine)|say (?!that "
    r"|hi|no )|what if"
    r"|pretend"
    r"|as an example|for example|for instance|in theory|theoretically|hypothetically|e\.g\."
    r"|i wish|i hope|i wonder|wouldn't it|it would be|act as|you are (?:a|an|now)\b|you're (?:a|an)\b|roleplay)"
)
CONDITIONAL = re.compile(r"\bif\b.*\b(?:would|could|might)\b|\b(?:would|could|might)\b.*\bif\b|^if .* (?:were|had)\b")
HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|may be|could be|not (?:so |quite |really )?sure|unsure|i guess"
    r"|i suppose"
    r"|i(?:'m| am) (?:thinking|considering|wondering|not certain|torn|leaning)|we(?:'re| are) (?:thinking|considering)"
    r"|no idea|i doubt|apparently|presumably|supposedly|seems?|looks like|sounds like|i assume|i suspect|my guess"
    r"|either way"
    r"|should we|we could|we should (?:probably|maybe)|i have a feeling|undecided|open question|to be decided|tbd"
    r"|as if)\b"
)
OPINION = re.compile(r"^(?:i (?:think|believe|feel)|in my opinion|imo|imho)\b(?! i (?:prefer|like|work|am))")
REPORT = re.compile(
    r"(?:^|,\s*|\bbecause |\bbut |\bas )(?!i\b|we\b|you\b|let|when|if\b|before|after|don't|do not|never|please"
    r"|always|stop|avoid)"
    r"(?:(?:according to)\b|[\w' .-]{1,40}?\s(?:say|says|said|think|thinks|thought|believe|believes|believed|claim"
    r"|claims"
    r"|claimed|tell|tells|told me|argue|argues|argued|suggest|suggests|suggested|feel|feels|wrote|writes|mentioned"
    r"|mentions"
    r"|insists?|insisted|swears?|reckons?|recommends?|recommended|asked|wonders?|complains?|complained|prefers|wants"
    r"|hates"
    r"|loves|likes|dislikes|hopes|wishes|keeps saying|is convinced|are convinced|is saying|was saying)\b)"
)
OWN_PEOPLE = re.compile(
    r"^(?:my|our) (?:wife|husband|partner|son|daughter|kids?|child(?:ren)?|mother|mom|mum|father|dad|parents|girlfriend"
    r"|boyfriend|doctor|dentist|physio|lawyer|manager|boss|team|client|customer|customers|clients|users|company"
    r"|landlord"
    r"|auditors?|cat|dog)\b.*\b(?:says? i|told me (?:to|not to)|prefers|wants|hates|loves|likes|dislikes|recommends?"
    r"|recommended i)\b(?! (?:this|that|it|me|us|you|to know)\b)"
    r"|^(?:the|our) (?:client|customer|auditors?|team|cto|ceo|board|security team|legal"
    r"|finance)\b[\w ]{0,20}\b(?:prefers|wants|requires|expects)\b(?! (?:this|that|it|me|us|you))"
)
TEMPORARY = re.compile(
    r"\b(?:right now|for now|for the moment|at the moment|this time|this once|just once|one time|once more|for once"
    r"|today|tonight|this (?:morning|afternoon|evening)|(?:for|in) (?:this|that) (?:one|reply|answer|message"
    r"|response|request|case|function|file"
    r"|test|example|paragraph|commit|pr|email|line|sentence|section|slide|page|draft|demo|run|task)|a (?:second|sec"
    r"|minute|moment|bit more)"
    r"|real quick|again|for a (?:bit|while|change|minute|moment|second)|(?:in|for) the next (?:few |half "
    r"|\d+ )?(?:second|minute|hour|half)s?"
    r"|later(?! than)|meanwhile|temporarily|brb|yet|here(?! at| in the (?:team|company)))\b"
)
CHAT = re.compile(
    r"\b(?:never mind|nevermind|no worries|no problem|don't worry|do not worry|who cares|whatever|good (?:luck|night"
    r"|morning"
    r"|evening|afternoon|job)|happy to|glad to|looking forward|just kidding|i'm kidding|long story|makes sense|got it"
    r"|i love it when|i love how|love this|i hate when|i hate it when|still (?:failing|broken|not|the same|getting"
    r"|there|doesn't"
    r"|does not|fails|wrong)|not working|doesn't work|does not work|won't (?:work|start|load|compile|build)"
    r"|keeps? (?:failing|crashing))\b"
)
ASIDE = re.compile(
    r"\b(?:can|could|would|will) you\b|^(?:look|call|find|book|alert|get|help)\b|\band (?:i )?need (?:you "
    r"|someone )?to\b|\bi (?:wanna|want to|need to|need you|need an?|need some|would like|want an?|want you)\b"
    r"|\b(?:help|find|tell|get|give|show|let) (?:me|my)\b"
    r"|, (?:please )?(?:schedule|find|book|cancel|call|what|how|when|where|why|who|is|are|do|does|can|should"
    r"|would)\b|\b(?:but|and|so) (?:can|how|what|when|where|is|are|do|does|why) (?:i|you|we|it|do|does|is|are|long"
    r"|much)\b|\bhow (?:can i|many|much)\b"
)
"""A request or question inside a statement; then the statement is only why somebody asks."""
IMPERATIVE = (
    r"(?:use|write|answer|reply|respond|speak|talk|call|address|keep|make|put|add|include|avoid|stop|skip|prefer"
    r"|name|tag|run"
    r"|check|ask|tell|show|give|send|format|start|begin|end|sign|close|open|commit|push|merge|deploy|release|test"
    r"|document|update"
    r"|treat|consider|assume|follow|stick|store|save|log|report|round|sort|prefix|suffix|label|mark|pin|cite|quote"
    r"|link|schedule"
    r"|book|plan|read|look|go|do|be|wrap|limit|cap|leave|remove|delete|clean|validate|verify|review|confirm|explain"
    r"|suggest"
    r"|recommend|translate|spell|capitali[sz]e|indent|squash|rebase|bump|notify|inform|copy|cc|double-check"
    r"|spell-check|require|mention|refer|list|set|return|convert|mock|import|export|enable|disable|handle|raise"
    r"|create|generate|attach|backup|back up|wait|favor|favour|bring|take|leave|clear|lint|build|separate|order"
    r"|rename|version)"
)
NO_SUBJECT = re.compile(
    r"^(?:it|this|that|these|those|there|here|you|he|she|they|i|what|who|which|something|someone|nothing|everything"
    r"|anything|one|let|your|his|her|their|its|thing|things|the (?:answer|output|result|error|test|tests|build|code"
    r"|script|page|screen|function|loop|code above|command|weather|food|movie|film|show|game|meeting is|traffic"
    r"|coffee|one|first|second|last|previous|other|same|following|above|below|rest|point|thing|problem|question|idea"
    r"|task|line|paragraph|draft|explanation|picture|image|text|sentence|word|title|logo|button|font|colou?r)s?\b"
    r"|any)\b"
)
EVENT = re.compile(
    r"\b(?:fail(?:s|ed|ing)?|crash(?:es|ed|ing)?|throws?|threw|breaks?|broke|hangs?|prints?|returns?|errors?|stuck"
    r"|loading|timing out|red|green|passing|passes|passed|(?:is|are) (?:running|waiting|loading|building|compiling"
    r"|ringing|freezing)|loud|nice|great|good|bad|awesome|beautiful|ugly|funny|weird|strange|confusing|interesting"
    r"|boring|amazing|terrible|horrible|annoying|crazy|cute|delicious|tasty|wonderful|lovely|long|short|hard|easy"
    r"|difficult|simple|clear|unclear|perfect|correct|right|wrong|done|finished|ready|missing|empty|blank|lost"
    r"|stolen)\b"
)
NO_CONTENT = re.compile(
    r"^(?:it(?:'s| is)|that(?:'s| is)|i(?:'m| am)|we(?:'re| are)|they're|this is|there(?:'s| is))?\s*(?:all |still "
    r"|just |really |totally |already |not )*(?:fine|ok|okay|good|great|done|working|needed|necessary|wrong|right"
    r"|correct|perfect|ready|sure|it|that|this|possible|too \w+|enough|thanks?|nothing|what i (?:meant|wanted|said"
    r"|asked)|a (?:good|bad|great|nice) \w+|not)\b[\w ]{0,20}[.!]*$"
)
ORDER = re.compile(
    rf"^(?:{IMPERATIVE}|try|let|can|could|get|find|alert|help|look|lookup|look up|buy|play|cancel|flip|pay|transfer"
    rf"|remind|i need|i want|undo|revert|rename|change|replace|move|fix|rerun|rewrite|redo|forget|ignore|hold|stop"
    rf"|wait|turn|pull|click|scroll|continue|proceed|proceed|increase|decrease|shorten|swap|drop)\b"
)
AND = re.compile(r"(?:so|and|but) ")
WHEN_RULE = re.compile(
    r"when(?:ever)? \w+ing\b.*,|when i say .* i mean\b|when(?:ever)? (?:you|we|i|a|an|the|someone|something)\b.*,"
)
DECIDED = re.compile(r"\b(?:decided|agreed|chose|opted)\b|^(?:i|we)\b|\bi (?:like|prefer|hate|love|dislike)")
NO_SUBJECT_TIMED = re.compile(
    r"^(?:it|this|that|wait|remind|call|schedule|book|set|add|show|give|find|i (?:want|need|would)|i'd|we (?:want"
    r"|need))\b"
)
EVENT_END = re.compile(r"\b(?:crash(?:es|ed)?|fail(?:s|ed|ing)|stolen|lost|frozen|broken|stuck|ringing|hurts?)\b")
SYMPTOM = re.compile(
    r"\b(?:problem|issue|reason|bug|thing)s? (?:is|was) (?:that )?(?:i|we|you|it|there|they) (?:don't|do not|can't"
    r"|cannot|doesn't|didn't|couldn't|have no|has no|need|want|is|'s)\b|\bno (?:problem|issue)\b|\bi found (?:a|an"
    r"|some|this|it|your|the) \w+(?: \w+)?[.!]?$"
)
COMPLAINT = re.compile(
    r"^(?:it|this|that|he|she|they|you) (?:always|never|only|just|keeps?)\b|^you must (?!not|never|always|only)"
    r"|^i no longer\b|^always (?:nice|good|a pleasure|happy|great|fun)\b|^i (?:must|have to|need to|never|always"
    r"|only)\b|^we (?:must|have to|need to|should) (?:go|fix|talk|find|hurry|leave|hurry|do (?:it|this|something)"
    r"|finish|look|check|wait|start)\b|\bmust be (?:a|an|the|some|something|tired|nice|hard|difficult|wrong|missing"
    r"|joking|kidding)\b"
)

WITH_US = re.compile(r"\b(?:we|our|us)\b[^,;.]*\bhere\b")
"""Here is then where somebody works, not what lies before them."""

NO_FACT = re.compile(
    r"^(?:calculate|compute|compare|submit|roll|convert|translate|summari[sz]e|list|search|count|print|plot|draw|sum"
    r"|estimate"
    r"|solve|explain|describe|design|implement|fetch|retrieve|record|install|configure|invest|wire|order|reserve"
    r"|rent|fly|drive|turn"
    r"|dial|text|email|ping|it|this|that|these|those|there|here|you|he|she|they|i|we|what|who|something|someone"
    r"|nothing|everything|anything|let|your|his|her|their"
    r"|its|things?|nice|great|good|thanks|please|sorry|hi|hey|hello|yes|no|ok|maybe|so|and|but|because|if|when|while"
    r"|since|as soon"
    r"|in the (?:movie|film|book|game|show|picture|image|video)|some|few|many|most people|people)\b"
    r"|\b(?:shows?|displays?|looks?|feels?|sounds?|seems?|keeps?|hurts?|wants?|needs? to|thinks?|wins?|jumps?|was"
    r"|were|had|got|went|came|saw|met"
    r"|just|almost|nearly|still|already|currently|\w+ing (?:at|for|on) (?:me|us)|me|him|them|this|that|these|those"
    r"|below|above|attached)\b"
)
"""Pronouns, stories and what one sees at the moment; such sentences tell nothing that lasts."""
