#!/usr/bin/env python3
"""Lists the fields of a PDF form, or fills them in a copy.

form.py list FORM.pdf
form.py fill FORM.pdf VALUES.json OUT.pdf    VALUES.json maps field names to values
"""

import json
import os
import sys

try:
    from pypdf import PdfReader, PdfWriter
    from pypdf.errors import PyPdfError
except ImportError:
    sys.exit("form: the package pypdf is missing; install it with: python3 -m pip install pypdf")


def fields(reader):
    return reader.get_fields() or {}


def show(path):
    found = fields(PdfReader(path))
    if not found:
        sys.exit(f"form: {path} has no form fields")
    print("name\ttype\tvalue\tchoices")
    for name, field in found.items():
        choices = field.get("/_States_") or field.get("/Opt") or ""
        print(name, field.get("/FT", ""), field.get("/V", ""), choices, sep="\t")


def fill(path, values_path, out):
    if os.path.exists(out):
        sys.exit(f"form: {out} exists; choose another name")
    with open(values_path, encoding="utf-8") as file:
        values = json.load(file)
    reader = PdfReader(path)
    unknown = sorted(set(values) - set(fields(reader)))
    if unknown:
        sys.exit(f"form: {path} has no field named {', '.join(unknown)}")
    writer = PdfWriter(clone_from=reader)
    for page in writer.pages:
        writer.update_page_form_field_values(page, values, auto_regenerate=False)
    writer.write(out)
    show(out)


def main():
    try:
        match sys.argv[1:]:
            case ["list", path]:
                show(path)
            case ["fill", path, values, out]:
                fill(path, values, out)
            case _:
                sys.exit(__doc__)
    except (OSError, ValueError, PyPdfError) as error:
        sys.exit(f"form: {error}")


if __name__ == "__main__":
    main()
