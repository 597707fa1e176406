import { SaxesParser } from 'saxes';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { DECLARATION_BYTES, type XmlDecoder, xmlDecoder } from './xml-text.ts';

export type Attributes = Readonly<Record<string, string>>;

/** What is told of an XML document. Names are without their prefix; the root has the depth 1. */
export interface XmlHandler {
  open(name: string, depth: number, attributes: Attributes): void;
  close?(name: string, depth: number): void;
  /** A text may come in pieces. */
  text?(text: string): void;
}

/** Tags and texts are held whole. */
const LONGEST_PIECE = 8 * 1024 * 1024;
/** Workbooks have about a dozen levels. */
const DEEPEST = 200;

/**
 * Reads an XML document that comes in chunks, in bounded memory.
 * @throws UnreadableSheet where it is malformed, or has a tag, text or nesting beyond all measure
 */
export class XmlReader {
  private decoder: XmlDecoder | undefined;
  /** The beginning, until it shows the encoding. */
  private start: Uint8Array = new Uint8Array();
  private depth = 0;
  /** Characters since the last tag: the parser holds them. */
  private held = 0;
  private readonly parser = new SaxesParser({ xmlns: false, position: false });

  constructor({ open, close, text }: XmlHandler) {
    this.parser.on('opentag', ({ name, attributes }) => {
      this.depth += 1;
      this.held = 0;
      if (this.depth > DEEPEST) throw new UnreadableSheet('has a part that is nested too deeply');
      open(localName(name), this.depth, attributes);
    });
    this.parser.on('closetag', ({ name }) => {
      close?.(localName(name), this.depth);
      this.depth -= 1;
      this.held = 0;
    });
    this.parser.on('doctype', () => {
      throw new UnreadableSheet('has a part with a document type');
    });
    if (text) {
      this.parser.on('text', text);
      this.parser.on('cdata', text);
    }
  }

  write(chunk: Uint8Array): void {
    if (this.decoder) {
      this.parse(this.decoder.write(chunk));
      return;
    }
    this.start = this.start.length === 0 ? chunk : Buffer.concat([this.start, chunk]);
    if (this.start.length >= DECLARATION_BYTES) this.begin();
  }

  end(): void {
    const decoder = this.decoder ?? this.begin();
    this.parse(decoder.end());
    this.guarded(() => this.parser.close());
  }

  private begin(): XmlDecoder {
    this.decoder = xmlDecoder(this.start);
    this.parse(this.decoder.write(this.start));
    return this.decoder;
  }

  private parse(text: string): void {
    this.held += text.length;
    this.guarded(() => this.parser.write(text));
    if (this.held > LONGEST_PIECE) throw new UnreadableSheet('has a part with a text of several megabytes');
  }

  /** Messages of the parser may quote the document. */
  private guarded(parse: () => void): void {
    try {
      parse();
    } catch (error) {
      if (error instanceof Error && error.constructor === Error) {
        throw new UnreadableSheet('has a part that is malformed XML');
      }
      throw error;
    }
  }
}

function localName(name: string): string {
  return name.includes(':') ? name.slice(name.indexOf(':') + 1) : name;
}

/** Reads a small document whole. @throws UnreadableSheet; what reading its bytes throws */
export async function readXml(chunks: AsyncIterable<Uint8Array>, handler: XmlHandler): Promise<void> {
  const reader = new XmlReader(handler);
  for await (const chunk of chunks) reader.write(chunk);
  reader.end();
}
