import { readFileSync } from 'node:fs';

/** A row of the table of customer fields in `docs/interface/reference.md`. */
export interface DocumentedField {
  name: string;
  type: string;
  /** The listed codes with their meanings; empty unless the type is `code`. */
  codes: Record<number, string>;
}

export function documentedFields(): DocumentedField[] {
  const text = readFileSync(new URL('../../docs/interface/reference.md', import.meta.url), 'utf8');
  const section = text.split('\n## Fields of a customer\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| (\w+) \| ([\w-]+) \| (.+) \|$/gm)].slice(1);
  return rows.map(([, name = '', type = '', notes = '']) => ({
    name,
    type,
    codes: Object.fromEntries(type === 'code' ? codesIn(notes) : []),
  }));
}

const codesIn = (notes: string) =>
  [...notes.matchAll(/(?:^|[:,] )(\d+) ([^,]+)/g)].map(([, code, meaning]) => [Number(code), meaning]);
