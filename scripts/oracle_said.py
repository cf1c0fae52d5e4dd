"""What a program was given to say, and whether it said it: messages of a loader, and texts of a request."""

import json
import re

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
# Calls and thoughts that gptme keeps in the text of an answer.
CALL = re.compile(r"@[^\n(]+\([A-Za-z0-9_:.-]+\): \{")
THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


def differences(wanted, shown):
    """How the messages that a program shows differ from those that it should."""
    if len(wanted) != len(shown):
        return [f"{len(wanted)} messages, and the program shows {len(shown)}"]
    found = []
    for at, (ours, theirs) in enumerate(zip(wanted, shown)):
        # What a program would make up for a message that lacks it, everlog leaves out.
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            found += [] if is_same(ours, theirs) else [f"message {at} is {str(ours)[:80]!r} and {str(theirs)[:80]!r}"]
            continue
        names = [name for name in ours if not is_same(ours[name], theirs.get(name))]
        found += [f"message {at} differs in {name}: {str(ours[name])[:80]!r} and {str(theirs.get(name))[:80]!r}" for name in names]
    return found[:5]


def is_same(ours, theirs):
    """Whether two values are the same to their program: NaN is not equal to itself, 0 is equal to 0.0, and a time
    without a zone is the machine's, which programs add when they load."""
    ours, theirs = rounded(ours), rounded(theirs)
    both_texts = isinstance(ours, str) and isinstance(theirs, str)
    return ours == theirs or json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True) or both_texts and len(ours) >= 19 and ours[:19] == theirs[:19] and bool(TIME.match(ours))


def rounded(value):
    """A value with its large whole numbers as most programs keep them."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(value) if isinstance(value, int) and abs(value) > 2**53 else value


def said_of(message, source):
    """The texts of a message that must be in a request. A program that keeps calls and thoughts in the text of an
    answer sends them as such: the lines between them must be there."""
    if source != "gptme" or message["role"] != "assistant":
        return [message["text"]]
    texts, lines, is_fenced = [], [], False
    for line in THOUGHT.sub("\n@(): {\n", message["text"]).split("\n"):
        is_fenced ^= line.lstrip().startswith("```")
        if not is_fenced and (line == "@(): {" or CALL.match(line)):
            texts, lines = texts + ["\n".join(lines)], []
        else:
            lines.append(line)
    return [text for text in texts + ["\n".join(lines)] if text.strip()]
