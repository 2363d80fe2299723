"""One project identity for every folder of a project, and never one for two projects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.workspace.identity import project_identity, remote_identity
from tests.support.git import git, repository

BILLING = "github.com/acme/billing"


def identity(folder: Path, **options: str) -> str:
    return project_identity(str(folder), **options)


def with_origin(folder: Path, url: str = "git@github.com:acme/billing.git") -> Path:
    repository(folder)
    git(folder, "remote", "add", "origin", url)
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/billing.git",
        "github.com:acme/billing",
        "https://github.com/acme/billing.git",
        "https://github.com/acme/billing/",
        "https://GitHub.com/Acme/Billing",
        "https://mei:ghp_p@ss@github.com/acme/billing.git",
        "ssh://git@github.com/acme/billing.git",
        "ssh://git@github.com:22/acme/billing.git",
        "ssh://git@ssh.github.com:443/acme/billing.git",
        "git+ssh://git@github.com//acme/./billing.git",
        "git://github.com/acme/billing.git",
        "  https://github.com/acme/billing\t",
        "https://github.com/acme/%62illing.git/",
        "https://github.com/acme/billing/.git",
    ],
)
def test_one_repository_has_one_name(url: str) -> None:
    """Credentials, port, scheme, final .git and case make no difference."""
    assert remote_identity(url) == BILLING


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("git@ssh.dev.azure.com:v3/acme/money/billing", "dev.azure.com/acme/money/billing"),
        ("https://acme@dev.azure.com/acme/money/_git/billing", "dev.azure.com/acme/money/billing"),
        ("ssh://git@[2001:db8::1]:2222/acme/billing.git", "2001:db8::1/acme/billing"),
        ("https://git.example.com/财务/开票.git", "git.example.com/财务/开票"),
        ("https://git.example.com/%E8%B4%A2%E5%8A%A1/开票", "git.example.com/财务/开票"),
        ("https://git.example.com/a b/*.git", "git.example.com/a-b/-"),
        ("https://git.example.com/../../etc/x", "git.example.com/etc/x"),
        ("https://git.example.com", None),
        ("https://git.example.com/.git", None),
        ("codecommit::eu-west-1://mei@billing", None),
        ("/srv/git/billing.git", None),
        ("../billing.git", None),
        ("./odd:name.git", None),
        ("file:///srv/git/billing.git", None),
        (r"C:\code\billing", None),
        ("", None),
    ],
)
def test_other_remotes(url: str, expected: str | None) -> None:
    """Every forge's form is understood; a path on this machine is no remote name."""
    assert remote_identity(url) == expected


def test_ssh_and_https_clones_agree(tmp_path: Path) -> None:
    """A clone by SSH, a clone by HTTPS and a sub-folder of either are one project."""
    ssh = with_origin(tmp_path / "one" / "billing")
    https = with_origin(tmp_path / "two" / "billing-copy", "https://mei:secret@github.com/Acme/Billing.git")
    (ssh / "src" / "deep").mkdir(parents=True)

    assert identity(ssh) == identity(https) == identity(ssh / "src" / "deep") == BILLING


def test_folders_of_one_name_stay_apart(tmp_path: Path) -> None:
    """Without a remote the path decides, in a repository and outside of one."""
    first, second = repository(tmp_path / "a" / "Billing"), repository(tmp_path / "b" / "Billing")
    plain = tmp_path / "c" / "Billing"
    plain.mkdir(parents=True)

    names = {identity(first), identity(second), identity(plain)}

    assert len(names) == 3
    assert all(name.startswith("billing-") and len(name) == len("billing-") + 6 for name in names)


@pytest.mark.parametrize("remote", [True, False])
def test_worktrees_share_the_main_repository(tmp_path: Path, remote: bool) -> None:
    """A linked worktree, its sub-folder, and the same worktree moved are the main repository's project."""
    main = (with_origin if remote else repository)(tmp_path / "billing")
    git(main, "worktree", "add", "-q", str(tmp_path / "hotfix"))
    (tmp_path / "hotfix" / "src").mkdir()
    expected = identity(main)

    assert identity(tmp_path / "hotfix") == identity(tmp_path / "hotfix" / "src") == expected

    git(main, "worktree", "move", str(tmp_path / "hotfix"), str(tmp_path / "moved"))
    assert identity(tmp_path / "moved") == expected

    shutil.move(tmp_path / "moved", tmp_path / "moved-by-hand")
    assert identity(tmp_path / "moved-by-hand") == expected


def test_worktrees_keep_together_when_the_main_repository_is_gone(tmp_path: Path) -> None:
    """Two worktrees whose main folder was removed still share the name that it had."""
    main = repository(tmp_path / "billing")
    for name in ("one", "two"):
        git(main, "worktree", "add", "-q", str(tmp_path / name))
    expected = identity(main)
    shutil.rmtree(main)

    assert identity(tmp_path / "one") == identity(tmp_path / "two") == expected


def test_a_submodule_is_its_own_project(tmp_path: Path) -> None:
    """A submodule is named apart from its parent, and a worktree of the submodule is that submodule."""
    library = repository(tmp_path / "library")
    main = with_origin(tmp_path / "billing")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendor/library")
    module = main / "vendor" / "library"
    git(module, "worktree", "add", "-q", str(tmp_path / "library-fix"))

    assert identity(module) == identity(library), "the origin on this machine counts as that folder"
    git(module, "remote", "remove", "origin")
    assert identity(module) == identity(tmp_path / "library-fix")
    assert identity(module).startswith("library-")
    assert identity(module) not in (identity(library), identity(main))


def test_a_nested_repository_is_its_own_project(tmp_path: Path) -> None:
    """The innermost repository counts; an empty or half-made .git does not make one."""
    outer = with_origin(tmp_path / "billing")
    inner = repository(outer / "tools" / "inner", commit=False)
    (outer / "docs" / ".git").mkdir(parents=True)
    (outer / "notes").mkdir()
    (outer / "notes" / ".git").write_bytes(b"\xff\x00 garbage")

    assert identity(inner).startswith("inner-")
    assert identity(outer / "docs") == identity(outer / "notes") == BILLING


def test_bare_repositories_and_their_worktrees(tmp_path: Path) -> None:
    """A bare repository, the layout with a `.bare` folder, and a separate git directory each are one project."""
    bare = tmp_path / "billing.git"
    repository(tmp_path / "seed")
    git(tmp_path, "clone", "-q", "--bare", "seed", "billing.git")
    git(bare, "remote", "remove", "origin")
    git(bare, "worktree", "add", "-q", str(tmp_path / "work"), "main")
    assert identity(bare) == identity(bare / "refs") == identity(tmp_path / "work")
    assert identity(bare).startswith("billing-")

    nest = tmp_path / "nest"
    nest.mkdir()
    git(tmp_path, "clone", "-q", "--bare", "seed", "nest/.bare")
    git(nest / ".bare", "remote", "remove", "origin")
    (nest / ".git").write_text("gitdir: ./.bare\n", encoding="utf-8")
    git(nest, "worktree", "add", "-q", "main-tree", "main")
    assert identity(nest) == identity(nest / "main-tree")
    assert identity(nest).startswith("nest.bare-")

    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "apart"), "tree")
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "start")
    git(tmp_path / "tree", "worktree", "add", "-q", str(tmp_path / "second"))
    assert identity(tmp_path / "tree") == identity(tmp_path / "second")


def test_a_clone_of_a_local_path_shares_its_project(tmp_path: Path) -> None:
    """A clone, a `file://` clone and their source folder are one project."""
    source = repository(tmp_path / "billing")
    git(tmp_path, "clone", "-q", str(source), "copy")
    git(tmp_path, "clone", "-q", f"file://{source}", "copy2")
    git(tmp_path, "clone", "-q", "billing/.git", "copy3")

    assert {identity(tmp_path / name) for name in ("copy", "copy2", "copy3")} == {identity(source)}


def test_outside_git_the_session_folder_decides(tmp_path: Path) -> None:
    """A `cd` outside git leaves the project alone; a `cd` into a repository does not."""
    notes, elsewhere = tmp_path / "notes", tmp_path / "elsewhere"
    (notes / "sub").mkdir(parents=True)
    elsewhere.mkdir()
    main = with_origin(tmp_path / "billing")

    assert identity(notes / "sub", session_root=str(notes)) == identity(notes)
    assert identity(elsewhere, session_root=str(notes)) == identity(notes)
    assert identity(elsewhere, session_root=str(main / "src")) == BILLING
    assert identity(main, session_root=str(notes)) == BILLING


def test_a_fixed_name_wins(tmp_path: Path) -> None:
    """The settings' name is taken as it is; a blank one counts as none."""
    main = with_origin(tmp_path / "billing")

    assert identity(main, fixed=" Billing 2026 ") == "Billing 2026"
    assert identity(main, fixed="  ") == BILLING


def test_links_and_inherited_variables_do_not_mislead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A symlinked folder is its target, and GIT_DIR of a running hook is ignored."""
    main, other = with_origin(tmp_path / "billing"), repository(tmp_path / "other")
    (main / "src").mkdir()
    (tmp_path / "link").symlink_to(main / "src")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))

    assert identity(tmp_path / "link") == BILLING


def test_a_private_store_belongs_to_its_workspace(tmp_path: Path) -> None:
    """Standing in memory/me, whose git directory ctxrepo keeps, one works on the workspace."""
    team = with_origin(tmp_path / "team", "https://github.com/acme/team-context")
    (team / "memory" / "me").mkdir(parents=True)
    stored = team / ".git" / "ctxrepo" / "stores" / "memory" / "me.git"
    stored.parent.mkdir(parents=True)
    git(team, "init", "-q", "--separate-git-dir", str(stored), "memory/me")
    (team / "memory" / "me" / ".git").write_text("gitdir: ../../.git/ctxrepo/stores/memory/me.git\n", encoding="utf-8")

    assert identity(team / "memory" / "me") == identity(team) == "github.com/acme/team-context"


@pytest.mark.parametrize("main", ["C:\\code\\billing\\.git\\worktrees\\", "C:/code/billing/.git/worktrees/"])
def test_a_windows_gitfile_names_its_main_repository(tree, main: str) -> None:
    """Worktrees made on Windows and seen from Linux keep together, sub-folders included."""
    root = tree({f"{name}/.git": f"gitdir: {main}{name}\r\n" for name in ("one", "two")})

    names = {identity(root / folder) for folder in ("one", "one/src", "two")}

    assert len(names) == 1
    assert names.pop().startswith("billing-")


def test_a_relative_windows_gitfile_is_followed(tmp_path: Path) -> None:
    """Backslashes in a relative gitfile lead to the same git directory."""
    main = with_origin(tmp_path / "billing")
    git(main, "worktree", "add", "-q", str(tmp_path / "fix"))
    (tmp_path / "fix" / ".git").write_text("gitdir: ..\\billing\\.git\\worktrees\\fix\n", encoding="utf-8")

    assert identity(tmp_path / "fix") == BILLING


def test_a_gitfile_that_leads_nowhere_marks_a_root(tmp_path: Path) -> None:
    """A submodule whose parent was deleted is one project with its sub-folders, not its neighbour's."""
    with_origin(tmp_path)
    lost = tmp_path / "lost"
    (lost / "src").mkdir(parents=True)
    (lost / ".git").write_text("gitdir: ../gone/.git/modules/lost\n", encoding="utf-8")

    assert identity(lost / "src") == identity(lost)
    assert identity(lost).startswith("lost-")


@pytest.mark.parametrize(
    "config",
    [
        '[remote "origin"]\n\turl = git@github.com:acme/billing.git\n',
        '[remote "origin"] url = "git@github.com:acme/billing.git" ; comment\n',
        '\ufeff[core]\r\n\tbare = false\r\n[ REMOTE "origin" ]\r\n\tURL=git@github.com:acme/billing.git # x\r\n',
        '[remote "origin"]\n\turl = git@github.com:\\\nacme/billing.git\n',
        "[remote.origin]\nurl = https://github.com/acme/billing\n",
        '[remote "upstream"]\n\turl = x:y/z\n'
        '[remote "origin"]\n\tfetch = a\n\turl = https://github.com/acme/billing\n\turl = https://b/c\n',
        '[include]\n\tpath = /nowhere\n[remote "origin"]\n# url = a:b/c\n\turl = https://github.com/acme/bill"ing"\n',
        '[core\nbroken =\n]]]\n[remote "origin"]\n\turl = https://github.com/acme/billing\n',
    ],
)
def test_the_configuration_is_read_as_git_reads_it(tmp_path: Path, config: str) -> None:
    """Quotes, comments, continued lines, case, CRLF, a BOM and broken neighbours do not hide the remote."""
    main = repository(tmp_path / "billing", commit=False)
    (main / ".git" / "config").write_bytes(config.encode())

    assert identity(main) == BILLING


@pytest.mark.parametrize(
    "config",
    [
        b"",
        b"\xff\xfe\x00\x00",
        b'[remote "Origin"]\n\turl = a:b/c\n',
        b'[remote "origin"]\n\turl =\n',
        b'[remote "origin"]\n\turl = https://github.com\n',
        b'[branch "main"]\n\turl = https://github.com/acme/billing\n',
    ],
)
def test_without_a_usable_origin_the_folder_decides(tmp_path: Path, config: bytes) -> None:
    """An empty, damaged or foreign configuration gives the folder's name, not an error."""
    main = repository(tmp_path / "billing", commit=False)
    (main / ".git" / "config").write_bytes(config)

    assert identity(main).startswith("billing-")


@pytest.mark.parametrize("name", ["*", "..x", "a b\tc", "bad\u202ename", "开票 项目", ".hidden", "x" * 255])
def test_no_folder_name_escapes(tmp_path: Path, name: str) -> None:
    """An identity is never empty, never `*`, and holds no blank, control or invisible character."""
    folder = tmp_path / name
    folder.mkdir()

    result = identity(folder)

    assert result != "*"
    assert result.isprintable()
    assert not set(result) & set(' \t*/\\"')
    assert len(result) > len("-123456")


def test_odd_places_are_named(tmp_path: Path) -> None:
    """The file system's root, a folder that is gone, a name no UTF-8 knows and a NUL are no errors."""
    main = with_origin(tmp_path / "billing")

    assert project_identity("/").startswith("root-")
    assert identity(main / "gone" / "deeper") == BILLING
    assert project_identity(str(main) + "\0") == BILLING
    assert os.fsdecode(b"\xff") not in project_identity(os.fsdecode(bytes(tmp_path) + b"/\xffx"))


def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    """Whatever stands in .git, the answer comes at once."""
    main = repository(tmp_path / "billing", commit=False)
    (main / ".git" / "config").unlink()
    os.mkfifo(main / ".git" / "config")
    os.mkfifo(main / ".git" / "commondir")

    assert identity(main).startswith("billing-")


def test_it_costs_nearly_nothing_to_import() -> None:
    """Nothing heavier than os, re and zlib comes with it; the hook calls it at every prompt."""
    script = (
        "import sys, re, zlib; before = set(sys.modules); import ctxrepo.workspace.identity;"
        "print(*sorted(set(sys.modules) - before))"
    )

    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout

    assert set(loaded.split()) <= {"__future__", "ctxrepo", "ctxrepo.workspace", "ctxrepo.workspace.identity"}
