/** What JSON begins with: an object, or a list of values; a sentence in brackets is none. */
const BEGINNING = /^\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[{["\]]|-?\d|true\b|false\b|null\b|$))/;

/**
 * Whether a text is a JSON document, or JSON Lines, by its beginning; where all of it is there, by all of it.
 * @param complete whether `text` is the whole file
 */
export function isJson(text: string, complete: boolean): boolean {
  if (!BEGINNING.test(text)) return false;
  return !complete || parses(text) || text.split('\n').every((line) => line.trim() === '' || parses(line));
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
