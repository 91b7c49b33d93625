# SPDX-License-Identifier: Apache-2.0
"""Part of the mixed load: CPython that parses, counts and sorts text, with some recursion."""
import json
import re


def words(text):
    return re.findall(r"[a-z]+", text)


def tree(depth, seed):
    if depth == 0:
        return {"leaf": words("the quick brown fox number %d jumps over the lazy dog" % seed)}
    return {"left": tree(depth - 1, seed * 2), "right": tree(depth - 1, seed * 2 + 1)}


def count(node, totals):
    for key, value in node.items():
        if key == "leaf":
            for word in value:
                totals[word] = totals.get(word, 0) + 1
        else:
            count(value, totals)
    return totals


def main():
    while True:
        copy = json.loads(json.dumps(tree(8, 1)))
        sorted(count(copy, {}).items(), key=lambda item: (-item[1], item[0]))


main()
