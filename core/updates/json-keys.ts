const QUOTE = '"';
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const NOT_BLANK = /[^ \t\r\n]/g;

/** The number of keys in a valid JSON text: `JSON.parse` drops the first of two equal keys silently, which the count shows. */
export function countKeys(json: string): number {
  let keys = 0;
  let open = json.indexOf(QUOTE);
  while (open !== -1) {
    const close = closingQuote(json, open + 1);
    if (isColonNext(json, close + 1)) keys += 1;
    open = json.indexOf(QUOTE, close + 1);
  }
  return keys;
}

/** Where the string ends that begins before `from`. */
function closingQuote(json: string, from: number): number {
  let close = json.indexOf(QUOTE, from);
  while (close !== -1 && isEscaped(json, close)) close = json.indexOf(QUOTE, close + 1);
  return close === -1 ? json.length : close;
}

function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** Whether the string that ends here is a key. */
function isColonNext(json: string, from: number): boolean {
  const next = json.charCodeAt(from);
  if (next === COLON) return true;
  if (next > 0x20) return false;
  NOT_BLANK.lastIndex = from;
  return NOT_BLANK.exec(json)?.[0] === ':';
}
