import type { SeenFile } from '../conversation/exchange.ts';
import { assumed, mainOf, needsCode, needsSetting, notSeen, type Observer, type Seen, tolerated } from './sighting.ts';

/** What a file is, and how it comes. */

/** An observer that needs the file of the main export. */
function ofFile(observe: (file: SeenFile) => Seen): Observer {
  return (conversation) => {
    const file = mainOf(conversation)?.file;
    if (!file || file.trouble !== null) return notSeen(file?.trouble ?? 'No file was fetched.');
    return observe(file);
  };
}

const READ = ['csv', 'xlsx'];

export const fileFormat = ofFile(({ format, compression, rejected, empty, whole }) => {
  const packed = compression ? `, packed with ${compression}` : '';
  if (empty) return notSeen('There is nothing in the file.');
  if (format !== null && READ.includes(format)) {
    if (packed) return tolerated(`It is ${format}${packed}.`);
    return assumed(`It is ${format}${whole ? '' : ' (its beginning was read)'}.`);
  }
  return rejected === null ? notSeen('Its kind was not recognised.') : needsSetting(rejected);
});

export const csvDialect = ofFile((file) => {
  const { format, rejected, encoding, lineBreak, whole } = file;
  if (format !== 'csv') return notSeen('The file is no CSV.');
  if (rejected !== null && encoding === null) return notSeen('The file was refused before its encoding was known.');
  const others = othersIn(file);
  if (others.length > 0) return tolerated(`It has ${others.join(', ')}.`);
  const breaks = lineBreak ? `, line breaks ${lineBreak}` : '';
  const rest = whole ? '' : ', and its rest was not read';
  return notSeen(`One column shows no separator${rest}; ${encoding}${breaks}.`);
});

/** How each part of a dialect is called that is not the assumed one. */
function othersIn({ separator, lineBreak, encoding, byteOrderMark, separatorLine }: SeenFile): string[] {
  return [
    separator === null || separator === ',' ? '' : `the separator "${separator === '\t' ? 'tab' : separator}"`,
    lineBreak === 'cr' || lineBreak === 'mixed' ? `line breaks ${lineBreak}` : '',
    encoding === 'utf-8' ? '' : (encoding ?? 'an encoding that is not known'),
    byteOrderMark ? 'a byte order mark' : '',
    separatorLine ? 'a line sep=' : '',
  ].filter(Boolean);
}

export const fileProof = ofFile(({ format, header, rejected, empty }) => {
  if (empty || (format !== 'csv' && format !== 'xlsx')) return notSeen('The file has no records.');
  if (header === 'none') return needsSetting('It has no header: its first record is a row.');
  if (rejected !== null) return needsSetting(rejected);
  return header === null
    ? notSeen('Whether its first record is a header is not known.')
    : assumed('Its header proves it.');
});

export const namesSpelling = ofFile(({ header }) => {
  if (header === 'names' || header === 'labels')
    return assumed(`The header has the ${header} exactly as the CRM lists them.`);
  if (header === 'folded') return tolerated('The header spells the name or label otherwise than the list of fields.');
  return notSeen('The header has no name that the CRM lists.');
});

export const headerTexts = ofFile(({ header, headerText, column }) => {
  if (header === 'names' || header === 'labels' || header === 'folded') {
    return assumed(header === 'folded' ? 'It has names or labels, spelt otherwise.' : `It has ${header}.`);
  }
  if (header === 'none') return needsSetting('The file has no header: columns.header.');
  if (header === null) return notSeen('No header was read.');
  if (headerText === null) return needsSetting('The first record is neither a name nor a label that the CRM lists.');
  return needsSetting(`The header calls ${column} "${headerText}".`);
});

export const spreadsheets = ofFile(({ format, sheets, headerRow, elsewhere, rejected }) => {
  if (format !== 'xlsx' && !rejected?.includes('visible sheet')) return notSeen('The file is no spreadsheet.');
  if (rejected !== null) return needsCode(rejected);
  if (sheets === null) return notSeen('Only the beginning of the spreadsheet was read.');
  const others = [
    sheets > 1 ? `${sheets} visible sheets with a header` : '',
    headerRow !== null && headerRow > 1 ? `its header in row ${headerRow}` : '',
    elsewhere > 0 ? 'values outside of its sheet' : '',
  ].filter(Boolean);
  return others.length > 0
    ? tolerated(`It has ${others.join(', ')}.`)
    : assumed('One visible sheet, its header in row 1.');
});

export const emptyExports = ofFile(({ rows, empty, whole, rejected }) => {
  if (empty) return tolerated('The file has nothing in it, not even a header.');
  if (rejected !== null || rows === null || !whole) return notSeen('Its rows were not counted.');
  return rows === 0 ? assumed('The file has a header and no row.') : notSeen(`The file has ${rows} rows.`);
});

export const rangeSupport = ofFile(({ range, etag }) => {
  if (range === null) return notSeen('No second GET was made, for the first was not complete, or empty.');
  if (range === 'whole') return tolerated('A range is answered with the whole file: it is read in one piece.');
  if (range === 'refused') return notSeen('The second GET was refused: an address may be good once.');
  if (range === 'wrong') return needsCode('Another range was answered than the one that was asked for.');
  return assumed(
    `A range is answered as such, ${etag ? 'with a strong ETag' : 'but without a strong ETag: the file is read in one piece'}.`,
  );
});

/** What a run is designed for; a little less is the time of the answer itself. */
const DESIGNED_SECONDS = 295;

export const linkLifetime: Observer = (conversation) => {
  const link = mainOf(conversation)?.link;
  if (!link) return notSeen('No address of a file was answered.');
  if (link.lifeSeconds === null) return notSeen('The address does not say how long it lives.');
  const life = `The address says that it lives ${link.lifeSeconds} s`;
  return link.lifeSeconds >= DESIGNED_SECONDS ? assumed(`${life}.`) : tolerated(`${life}, less than five minutes.`);
};

export const fileHost: Observer = (conversation) => {
  const main = mainOf(conversation);
  const asked = conversation.exchanges.find(({ step, purpose }) => step === 'link' && purpose === 'main');
  if (!main?.link)
    return notSeen(asked?.status ? `The request for the file was answered ${asked.status}.` : 'No file was asked for.');
  const { read, at, host, listed, refused } = main.link;
  if (at === null) return needsCode(`There is no address in the answer: ${asked?.shape}.`);
  if (!read) return needsCode(`The address is in ${at}, where no run looks; its host is ${host}.`);
  if (!listed)
    return needsSetting(`Files come from ${host}, which crm.fileHosts does not name${refused ? ` (${refused})` : ''}.`);
  return refused === null ? assumed(`Files come from ${host}.`) : needsCode(refused);
};
