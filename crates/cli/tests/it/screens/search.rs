//! Screens of `search`, and of `why` with a query.

use insta::assert_snapshot;

use super::{screen, skills};
use crate::shelf::{self, json_of};

#[test]
fn a_search_is_one_line_for_each_hit() {
    let place = skills();
    let query = ["search", "turn these meeting notes into a pdf"];
    assert_snapshot!(screen(&place, 80, &query), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting i…
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a…

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 120, &query), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and d…
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 200, &query), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes…
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 120, &[&query[..], &["--why"]].concat()), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and d…
      in the name: meeting; in the description: turn, meeting, notes; in the instructions: notes; nowhere: pdf
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.
      in the name: pdf; in the description: pdf; nowhere: turn, meeting, notes

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 200, &[&query[..], &["--why", "--why"]].concat()), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes…
        0.862  note in the description
        0.728  turn in the description
        0.585  meet in the description
        0.378  meet in the name
        0.027  note in the instructions
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.
        0.357  pdf in the name
        0.345  pdf in the description

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 20, &query), @"
    exit 0
    --- stdout
    1  meeting-minutes
      2.580
      turn, meeting, no…
      Turns raw notes o…
    2  pdf-forms  0.702
      pdf
      Fills in PDF form…

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 80, &["search", "zebra"]), @"
    exit 0
    --- stdout
    no skill fits, of 4 skills; all of them: prowess list
    ");
}

#[test]
fn why_with_a_query_names_the_rank_the_winner_and_the_words_that_are_missing() {
    let place = skills();
    let why = |columns| {
        let said =
            screen(&place, columns, &["why", "pdf-forms", "--query", "turn meeting notes into pdf minutes"]);
        // The list of clients that read a folder grows with the table of clients.
        said.lines().filter(|line| !line.contains("clients that look there:")).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(why(80), @"
    exit 0
    --- stdout
    pdf-forms: offered
      found: ~/.codex/skills/pdf-forms/SKILL.md
      path for filters: pdf-forms
      for this query: 2 of 2 that fit, score 0.664; the first is meeting-minutes,
        score 3.603
      words in its name or description: pdf
      words missing from its description: turn, meeting, notes, minutes
    pdf-forms: shadowed
      found: ~/.claude/skills/pdf-forms/SKILL.md
      path for filters: pdf-forms
      shadowed by: ~/.codex/skills/pdf-forms/SKILL.md
      compared with it: identical copy
      hint: keep both: Claude Code reads only this one, Codex reads only the other
    ");
    let whole = why(80).replace("minutes,\n    score", "minutes, score");
    assert_eq!([why(120), why(200)], [whole.clone(), whole]);
    let json = json_of(&place, &["why", "--json", "pdf-forms", "--query", "meeting minutes of a form"]);
    let ranked = json["candidates"].as_array().unwrap().iter().find(|one| one["state"] == "active").unwrap();
    assert_eq!(ranked["ranked"]["rank"], 2);
    assert_eq!(ranked["ranked"]["winner"]["key"], "meeting-minutes");
    assert_eq!(ranked["ranked"]["missing"], serde_json::json!(["meeting", "minutes"]));
    let none = shelf::run(&place, &["why", "pdf-forms", "--query", "zebra"]);
    assert!(
        none.contains("  for this query: does not fit\n  words missing from its description: zebra\n"),
        "{none}"
    );
}
