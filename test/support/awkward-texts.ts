import fc from 'fast-check';

/** Pieces that are hard to escape in XML and spreadsheets, and any UTF-16 unit, including lone surrogates. */
const PIECES = [
  ...['_', '_x', 'x', '0041', '_x0041', '_x0041_', '_X0041_', 'x0041_', '_x005F_', '_x00e9_', '_xD83D_', '_xDE00_'],
  ...['\0', '\x01', '\x08', '\t', '\n', '\r', '\r\n', '\x1f', '\x7f', '\x85', '\u2028', '\ufeff', '\ufffe', '\uffff'],
  ...['\ud800', '\udc00', '😀', ' ', '  ', '\u00a0', '&', '<', '>', ']]>', '&amp;', '&#13;', '"', "'", 'א', 'é'],
  ...['=1+1', '+972', '-5', '@', '007', '1e5', 'TRUE', '#N/A', ';', ',', '|'],
];
const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

/** Texts that are hard to write and to read back unchanged. */
export const awkwardTexts: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), unit), { maxLength: 8 })
  .map((pieces) => pieces.join(''));
