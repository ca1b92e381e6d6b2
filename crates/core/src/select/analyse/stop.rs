//! Stop words: words that say nothing about a task.

/// Sorted, in lower case.
const WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "before", "but", "by", "can", "could", "did", "do", "does", "doing", "don", "for", "from", "get", "had",
    "has", "have", "having", "he", "help", "her", "here", "his", "how", "i", "if", "in", "into", "is", "it",
    "its", "just", "let", "like", "ll", "me", "more", "my", "need", "no", "not", "now", "of", "on", "or",
    "our", "out", "please", "re", "s", "she", "should", "so", "some", "t", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "up", "us", "ve", "want", "was", "we", "were",
    "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Whether a word in lower case is a stop word.
pub(crate) fn is_stop(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_is_sorted() {
        assert!(super::WORDS.is_sorted());
        assert!(super::is_stop("the") && !super::is_stop("pdf"));
    }
}
