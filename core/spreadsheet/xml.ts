import { SaxesParser } from 'saxes';
import { UnreadableFile } from '../file/unreadable-file.ts';

export type Attributes = Readonly<Record<string, string>>;

/** Handles the events of an XML document. Element names have no prefix. The depth of the root is 1, its parent ''. */
export interface XmlHandler {
  open(name: string, depth: number, attributes: Attributes, parent: string): void;
  close?(name: string, depth: number): void;
  /** One text may arrive in several pieces. @returns whether the text belongs to the handler */
  text?(text: string): boolean;
  /** A comment, a processing instruction, or an unusual prefix, which are not part of the content. */
  aside?(): void;
  regular?: RegularElements;
}

/** The elements that fill a large document. A regular expression reads them several times as fast as the parser. */
export interface RegularElements {
  /** A sticky pattern. It matches whole elements that the parser accepts and that contain only their value. */
  pattern: RegExp;
  /** Whether such an element may follow a tag. @param depth of the element that is open */
  mayFollow(depth: number): boolean;
  take(match: RegExpExecArray): void;
}

/** The source of a pattern for a text without escaped characters. */
export const UNESCAPED_TEXT = String.raw`[^<>&\0-\x08\x0b-\x1f\x7f-\x9f\u2028\ud800-\uffff]*`;

/** The most characters of a tag or text, which the parser holds in memory. */
const LONGEST_PIECE = 8 * 1024 * 1024;
/** Workbooks have about a dozen levels. */
const DEEPEST = 200;

/**
 * Reads an XML document in chunks, with bounded memory.
 * @throws UnreadableFile if the document is malformed, or has a tag, text or nesting beyond the limits
 */
export class XmlReader {
  private decoder: Decoder | undefined;
  /** All bytes so far, until they show the encoding. After that, only the current chunk. */
  private start: Uint8Array = new Uint8Array();
  /** The names of the open elements. */
  private readonly elements: string[] = [];
  /** Characters since the last tag, which the parser holds in memory. */
  private held = 0;
  /** Number of tags that the parser has read. */
  private tags = 0;
  private readonly regular: RegularElements | undefined;
  private readonly parser = new SaxesParser({ xmlns: false, position: false });

  /** @param others receives the same events, but only the texts that do not belong to `handler` */
  constructor(handler: XmlHandler, others?: XmlHandler) {
    this.regular = handler.regular;
    const onAside = () => (others ?? handler).aside?.();
    this.parser.on('opentag', ({ name, attributes }) => {
      this.tags += 1;
      this.held = 0;
      const local = localName(name);
      const parent = this.elements.at(-1) ?? '';
      const depth = this.elements.push(local);
      if (depth > DEEPEST) throw new UnreadableFile('has a part that is nested too deeply');
      if (local !== name && !isUsualPrefix(name)) onAside();
      handler.open(local, depth, attributes, parent);
      others?.open(local, depth, attributes, parent);
    });
    this.parser.on('closetag', ({ name }) => {
      const local = localName(name);
      handler.close?.(local, this.elements.length);
      others?.close?.(local, this.elements.length);
      this.elements.pop();
      this.tags += 1;
      this.held = 0;
    });
    this.parser.on('doctype', () => {
      throw new UnreadableFile('has a part with a document type');
    });
    // With an eighth handler, V8 stores the properties of the parser in a slow form: parsing takes three times as long.
    const onText = (text: string) => {
      if (!handler.text?.(text)) others?.text?.(text);
    };
    this.parser.on('text', onText);
    this.parser.on('cdata', onText);
    this.parser.on('comment', onAside);
    this.parser.on('processinginstruction', onAside);
  }

  write(chunk: Uint8Array): void {
    this.start = this.decoder ? chunk : Buffer.concat([this.start, chunk]);
    if (this.start.length >= DECLARATION_BYTES || this.decoder) this.parse(this.start);
  }

  end(): void {
    if (!this.decoder) this.parse(this.start);
    this.parse();
    this.guarded(() => this.parser.close());
  }

  /** @param bytes `undefined` at the end of the document */
  private parse(bytes?: Uint8Array): void {
    const begins = this.decoder === undefined;
    this.decoder ??= decoderOf(encodingOf(this.start));
    const decoded = decode(this.decoder, bytes);
    // PyExcelerate writes an empty line before the declaration.
    const text = begins ? decoded.trimStart() : decoded;
    this.held += text.length;
    this.guarded(() => this.parser.write(text.slice(this.regular ? this.readTags(text, this.regular) : 0)));
    if (this.held > LONGEST_PIECE) throw new UnreadableFile('has a part with a text of several megabytes');
  }

  /** Reads all whole tags of a text. @returns the position after them */
  private readTags(text: string, { pattern, mayFollow, take }: RegularElements): number {
    let at = 0;
    for (let end = text.indexOf('>') + 1; end > 0; end = text.indexOf('>', at) + 1) {
      const { tags } = this;
      this.parser.write(text.slice(at, end));
      at = end;
      // Only if the parser has just read a tag, the next character begins a text or a tag.
      if (this.tags === tags || !mayFollow(this.elements.length)) continue;
      pattern.lastIndex = at;
      for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
        take(match);
        at = pattern.lastIndex;
      }
    }
    return at;
  }

  /** Replaces errors of the parser: their messages may quote the document. */
  private guarded(parse: () => void): void {
    try {
      parse();
    } catch (error) {
      if (error instanceof Error && error.constructor === Error) {
        throw new UnreadableFile('has a part that is malformed XML');
      }
      throw error;
    }
  }
}

/** Prefixes as programs write them: `x14ac:`. Any other one may hold text. */
const USUAL_PREFIX = /^(?:xmlns:)?(?:[a-z]{1,4}\d{0,2}(?:ac|r\d)?|dcterms|dcmitype|loext|xcalcf|msink|x3Unk)(?::|$)/;

/** @param name has a prefix, or declares one */
export function isUsualPrefix(name: string): boolean {
  return USUAL_PREFIX.test(name);
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/**
 * Reads a document to its end.
 * @param others as for `XmlReader`
 * @throws UnreadableFile; any error from reading its bytes
 */
export async function readXml(
  chunks: AsyncIterable<Uint8Array>,
  handler: XmlHandler,
  others?: XmlHandler,
): Promise<void> {
  const reader = new XmlReader(handler, others);
  for await (const chunk of chunks) reader.write(chunk);
  reader.end();
}

type Decoder = InstanceType<typeof TextDecoder>;

/** The number of bytes that show the encoding. */
const DECLARATION_BYTES = 200;

function decode(decoder: Decoder, bytes: Uint8Array | undefined): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch {
    throw new UnreadableFile('has a part with bytes that are invalid in its encoding');
  }
}

function decoderOf(label: string): Decoder {
  try {
    return new TextDecoder(label, { fatal: true });
  } catch {
    throw new UnreadableFile('has a part in an unrecognised encoding');
  }
}

function encodingOf(start: Uint8Array): string {
  const [first = 0, second = 0] = start;
  // UTF-16 starts with a byte order mark, or one of the two bytes of its first character, `<`, is 0.
  if (first === 0xff || second === 0) return 'utf-16le';
  if (first === 0xfe || first === 0) return 'utf-16be';
  const declaration = Buffer.from(start.subarray(0, DECLARATION_BYTES)).toString('latin1');
  return /^<\?xml[^>]*\sencoding\s*=\s*["']([\w.-]+)["']/.exec(declaration)?.[1] ?? 'utf-8';
}
