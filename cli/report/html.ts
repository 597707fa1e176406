/**
 * A piece of a page that is already markup: made by `html`, a style sheet, a script, or a drawing of the plotting
 * library. All other values in a page are text and are escaped.
 */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Markup | readonly Markup[] | null;

/** A template of markup. Values are escaped for text and for quoted attributes; `null` becomes an empty text. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Markup {
  return new Markup(strings.map((part, index) => part + (index < values.length ? textOf(values[index]) : '')).join(''));
}

function textOf(value: Value | undefined): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return escaped(String(value));
}

/** Removes the characters that change the text direction, and escapes those of HTML. */
function escaped(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '').replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}
