#!/usr/bin/env python3
"""Prints what a CSV or TSV file holds, column by column. Reads row by row and changes nothing."""

import argparse
import csv
import re
import sys
from datetime import datetime

MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "?"}
# A date such as 03/04/2026 fits two of these: the first one counts, and the examples show it.
DATE_FORMATS = {
    "%Y-%m-%d": "date YYYY-MM-DD",
    "%d.%m.%Y": "date DD.MM.YYYY",
    "%d/%m/%Y": "date DD/MM/YYYY",
    "%m/%d/%Y": "date MM/DD/YYYY",
    "%Y-%m-%dT%H:%M:%S": "date and time",
    "%Y-%m-%d %H:%M:%S": "date and time",
}
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# Above this many different values a column's values are no longer remembered.
MOST_VALUES = 100_000


def kind(text):
    """The type that one value looks like."""
    if NUMBER.fullmatch(text):
        leading_zero = len(text) > 1 and text[0] == "0" and text[1].isdigit()
        return "text" if leading_zero else "number"
    for form, name in DATE_FORMATS.items():
        try:
            datetime.strptime(text, form)
            return name
        except ValueError:
            continue
    return "text"


class Column:
    def __init__(self, name):
        self.name = name
        self.missing = 0
        self.kinds = {}
        self.values = set()
        self.full = False
        self.low = self.high = None
        self.examples = []

    def add(self, text):
        text = text.strip()
        if text.lower() in MISSING:
            self.missing += 1
            return
        which = kind(text)
        self.kinds[which] = self.kinds.get(which, 0) + 1
        if len(self.values) < MOST_VALUES:
            self.values.add(text)
        elif text not in self.values:
            self.full = True
        if len(self.examples) < 3 and text not in self.examples:
            self.examples.append(text)
        if which == "number":
            value = float(text)
            self.low = value if self.low is None else min(self.low, value)
            self.high = value if self.high is None else max(self.high, value)

    def line(self):
        kinds = sorted(self.kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        types = " + ".join(f"{count} {which}" if len(kinds) > 1 else which for which, count in kinds)
        different = f"{len(self.values)}{' or more' if self.full else ''} different"
        parts = [types or "empty", f"{self.missing} missing", different]
        if self.low is not None:
            parts.append(f"{self.low:g} to {self.high:g}")
        examples = ", ".join(repr(example[:30]) for example in self.examples)
        return f"{self.name}: {'; '.join(parts)}; such as {examples or 'nothing'}"


def encoding_of(path):
    """The first encoding that fits the whole file."""
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            with open(path, encoding=encoding) as file:
                for _ in file:
                    pass
            return encoding
        except UnicodeDecodeError:
            continue
    return "latin-1"


def delimiter_of(sample):
    try:
        return csv.Sniffer().sniff(sample, ",;\t|").delimiter
    except csv.Error:
        return ","


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--delimiter", help="found out from the file by default")
    args = parser.parse_args()
    try:
        encoding = encoding_of(args.file)
        with open(args.file, encoding=encoding, newline="") as file:
            delimiter = args.delimiter or delimiter_of(file.read(64 * 1024))
            file.seek(0)
            report(args.file, csv.reader(file, delimiter=delimiter), encoding, delimiter)
    except (OSError, csv.Error) as error:
        sys.exit(f"profile: {args.file}: {error}")


def report(path, rows, encoding, delimiter):
    header = next(rows, None)
    if not header:
        sys.exit(f"profile: {path}: the file is empty")
    columns = [Column(name.strip() or f"column {number}") for number, name in enumerate(header, 1)]
    count = short = long = repeated = 0
    seen = set()
    for row in rows:
        if not row:
            continue
        count += 1
        short += len(row) < len(columns)
        long += len(row) > len(columns)
        mark = hash(tuple(row))
        repeated += mark in seen
        if len(seen) < MOST_VALUES:
            seen.add(mark)
        for column, text in zip(columns, row + [""] * (len(columns) - len(row))):
            column.add(text)
    name = {"\t": "tab"}.get(delimiter, delimiter)
    print(f"{path}: {count} rows, {len(columns)} columns, encoding {encoding}, delimiter {name}")
    for number, what in ((short, "too few cells"), (long, "too many cells")):
        if number:
            print(f"{number} rows with {what}")
    if repeated:
        print(f"{repeated} rows appear more than once")
    for column in columns:
        print(column.line())


if __name__ == "__main__":
    main()
