/** The message says of the records of a file what of them is too much for a spreadsheet, without a value of theirs. */
export class TooMuchForSpreadsheet extends Error {
  override readonly name = 'TooMuchForSpreadsheet';
}
