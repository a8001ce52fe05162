"""Files people hand us, as text: bounded, decoded, never executed. Knows no format."""

import codecs
import errno
import re
import stat
from pathlib import Path, PurePath

from playground.errors import PlaygroundError
from playground.sentence import Sentence

MAX_BYTES = 1_000_000
"""A preset or a server's config is a page of text; more is a mistake or an attack."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_file(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """The bytes of an ordinary file of at most `limit` bytes.

    Raises:
        PlaygroundError: missing, not an ordinary file (a pipe would never end), unreadable or too large.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = Sentence("a folder") if stat.S_ISDIR(mode) else Sentence("no ordinary file")
            raise PlaygroundError(
                Sentence("{path} is {kind}.", path=path, kind=kind), Sentence("Name a file."), code="bad_file"
            )
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = _FIXES.get(error.errno or 0, Sentence("Copy it to another place and name that."))
        raise PlaygroundError(
            Sentence("{path} cannot be read: {why}.", path=path, why=why), hint, code="bad_file"
        ) from None
    except ValueError:  # a NUL byte in the name
        raise PlaygroundError(
            Sentence("The file's name is not valid."), Sentence("Check the name."), code="bad_file"
        ) from None
    check_size(str(path), len(content), limit=limit)
    return content


def user_path(text: str) -> Path:
    """A path as a person writes it, `~` and `~name` filled in.

    Raises:
        PlaygroundError: no such home.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise PlaygroundError(
            Sentence("{path}: nobody of that name has a home here.", path=text),
            Sentence("Write the whole path, or ./ in front of a name that begins with ~."),
            code="bad_file",
        ) from None


_FIXES = {
    errno.ENOENT: Sentence("Check the name and the folder it is looked for in."),
    errno.ENOTDIR: Sentence("Check the name: a part of it that should be a folder is a file."),
    errno.EACCES: Sentence("Let this user read it (chmod u+r), or give its text on standard input: `import -`."),
    errno.ELOOP: Sentence("Its links lead in a circle: name the file itself."),
    errno.ENAMETOOLONG: Sentence("Check the name."),
}


def in_words(name: str) -> str:
    """A file's bare name as a description may hold it: one line, nothing hidden, 200 characters at most."""
    bare = PurePath(name).name[:200]
    return "".join(c if c.isprintable() else "·" for c in bare)


def check_size(name: str, size: int, *, limit: int = MAX_BYTES) -> None:
    if size > limit:
        what = Sentence("{name} is larger than {mb:g} MB.", name=name, mb=limit / 1e6)
        if limit == MAX_BYTES:
            usual = Sentence("A configuration is a few kilobytes.")
            what = Sentence("{what} {fix}", what=what, fix=usual)
        raise PlaygroundError(
            what,
            Sentence("Check that this is the right file."),
            code="too_large",
        )


def decode(name: str, content: bytes | str, *, limit: int = MAX_BYTES) -> str:
    """Text of a file: UTF-8 with or without a byte order mark, or UTF-16 with one; any line ends.

    Raises:
        PlaygroundError: another encoding, or a NUL byte; names file and line.
    """
    if isinstance(content, str):
        check_size(name, len(content), limit=limit)
        text = content.removeprefix("\ufeff")
    else:
        check_size(name, len(content), limit=limit)
        encoding = next((name for bom, name in _BOMS if content.startswith(bom)), "utf-8")
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise PlaygroundError(
                Sentence("{name}, line {line}: not UTF-8 text.", name=name, line=line),
                Sentence("Save the file as UTF-8."),
                code="bad_file",
            ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise PlaygroundError(
            Sentence("{name}, line {line}: holds a NUL byte, so this is no text file.", name=name, line=line),
            Sentence("Check that this is the right file."),
            code="bad_file",
        )
    return text


def name_from(file: str) -> str:
    """A preset's name for what came in a file of this name: "My Config.yaml" -> "my-config"."""
    stem = PurePath(file.replace("\\", "/")).name.rsplit(".", 1)[0].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", stem).strip("-._")[:64] or "imported"
