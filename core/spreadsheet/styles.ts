import { type Shown, shownByBuiltIn, shownByCode } from './number-formats.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { readXml } from './xml.ts';

/** Excel's own limit is 65,490. */
const MOST_STYLES = 200_000;

/** What the styles of cells show numbers as, by their place. @throws UnreadableSheet; what reading the bytes throws */
export async function readStyles(chunks: AsyncIterable<Uint8Array>): Promise<Shown[]> {
  const codes = new Map<number, Shown>();
  const ids: number[] = [];
  let part = '';
  await readXml(chunks, {
    open: (name, depth, { numFmtId = '0', formatCode = '' }) => {
      if (depth === 2) part = name;
      if (depth !== 3) return;
      if (part === 'numFmts') codes.set(Number(numFmtId), shownByCode(formatCode));
      if (part === 'cellXfs') ids.push(Number(numFmtId));
      if (ids.length > MOST_STYLES || codes.size > MOST_STYLES) throw new UnreadableSheet('has too many styles');
    },
  });
  return ids.map((id) => codes.get(id) ?? shownByBuiltIn(id));
}
