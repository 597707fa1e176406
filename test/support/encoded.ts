/** The bytes of a text. In windows-1255, it may have Hebrew letters and characters of Latin-1. */
export function encodedAs(text: string, encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1255'): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  // windows-1255 has the Hebrew letters in the order of Unicode, starting at E0.
  const in1255 = (letter: string) => String.fromCharCode(letter.charCodeAt(0) - 0x5d0 + 0xe0);
  if (encoding === 'windows-1255') return Buffer.from(text.replaceAll(/[א-ת]/g, in1255), 'latin1');
  const wide = Buffer.from(text, 'utf16le');
  return encoding === 'utf-16be' ? wide.swap16() : wide;
}
