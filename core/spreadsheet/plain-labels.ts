/** Texts of a header that a message may name: words alone, for what looks like an address or a number may be somebody's. */
export function plainLabels(texts: readonly string[]): string[] {
  return texts.filter((text) => text.length <= LONGEST && LABEL.test(text) && !/\d{3}/.test(text)).slice(0, MOST);
}

const LONGEST = 60;
const MOST = 20;
const LABEL = /^[\p{L}\p{M}\p{N}\s()'"״׳./:#%&_-]+$/u;
