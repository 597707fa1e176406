/** The few flat responses of S3, read without a parser. */

const ENTITIES: Record<string, string> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'" };

/** The inside of every element of this name. */
export function elementsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, inside = '']) => inside);
}

/** The text of the first element of this name, its entities resolved (stores write quotation marks in three ways). */
export function textOf(xml: string, name: string): string | undefined {
  const raw = elementsOf(xml, name)[0];
  return raw?.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (all, decimal, hexadecimal, entity) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hexadecimal) return String.fromCodePoint(Number.parseInt(hexadecimal, 16));
    return ENTITIES[entity] ?? all;
  });
}

/** Text as it may stand in an element. */
export function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
