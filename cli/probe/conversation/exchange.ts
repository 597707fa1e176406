import type { Entity } from '../../../core/config/entities.ts';

/** What a call of a probe is made for. */
export type Step = 'fields' | 'create' | 'status' | 'link' | 'absent' | 'update';
/** Each export of a probe is made for one purpose. */
export type Purpose = 'main' | 'early' | 'filter';

/** One call and its answer, as far as they are kept: shapes, and no value, token, id or link. */
export interface Exchange {
  step: Step;
  entity: Entity;
  purpose: Purpose;
  /** `GET /{entity}/fields` as the interface document writes it. */
  call: string;
  /** `null`: there was no answer. */
  status: number | null;
  /** Why there was none: a code of the connection. */
  trouble: string | null;
  /** Milliseconds since the probe began, and until the answer was whole. */
  at: number;
  milliseconds: number;
  mediaType: string;
  headerNames: string[];
  /** Values of headers that hold no data: waits and limits. */
  headers: Record<string, string>;
  /** Keys and types of the body, as an error message of a run has them. */
  shape: string;
  /** The machine code of an error body, where it is one plain word. */
  code: string | null;
}

/** Where the fields stand in an answer, and under which keys. */
export interface SeenFields {
  entity: Entity;
  /** The product reads them. */
  read: boolean;
  /** `list`, or the key that holds it; `null`: none was found. */
  listAt: string | null;
  count: number;
  nameKey: string | null;
  labelKey: string | null;
  typeKey: string | null;
}

/** What was seen of one export. */
export interface SeenExport {
  purpose: Purpose;
  entity: Entity;
  /** Where the id stands, and whether the product finds it; `null`: nowhere. */
  id: { at: string; read: boolean; kind: 'UUID' | 'number' | 'text' } | null;
  /** The id of an earlier export of this probe. */
  idAgain: boolean;
  statuses: SeenStatus[];
  link: SeenLink | null;
  /** How the request before PROCESSED was answered, and that it was before. */
  early: { status: number; hasLink: boolean; before: boolean | null } | null;
  file: SeenFile | null;
}

export interface SeenStatus {
  /** Seconds since the export was requested. */
  seconds: number;
  /** The product finds the record. */
  read: boolean;
  /** The record has another id than the export. */
  ofOther: boolean;
  /** Where the status stands: `status`, `data.status`; `null`: nowhere. */
  at: string | null;
  /** In capitals, where it is a plain word. */
  word: string | null;
  known: boolean;
}

export interface SeenLink {
  /** The product finds it. */
  read: boolean;
  at: string | null;
  /** A name that may be shown. */
  host: string;
  listed: boolean;
  /** Why the rules of a transfer refuse it. */
  refused: string | null;
  parameters: string[];
  lifeSeconds: number | null;
}

/** What the product's own code says of the file. */
export interface SeenFile {
  /** Why there is none, or it could not be read. */
  trouble: string | null;
  /** A refusal of its content, in the words of a run. */
  rejected: string | null;
  bytes: number;
  whole: boolean;
  contentType: string;
  etag: boolean;
  undeclaredEnd: boolean;
  format: string | null;
  compression: string | null;
  encoding: string | null;
  byteOrderMark: boolean;
  separatorLine: boolean;
  separator: string | null;
  lineBreak: string | null;
  rows: number | null;
  empty: boolean;
  /** What the first record is: names or labels (exactly, or only folded), other texts, a row. */
  header: 'names' | 'labels' | 'folded' | 'other' | 'none' | null;
  /** A text of the header that the CRM does not list, where it is certainly no value. */
  headerText: string | null;
  /** The column that was requested. */
  column: string;
  sheets: number | null;
  headerRow: number | null;
  elsewhere: number;
  /** How a second GET, of a range, was answered; `null`: none was made. */
  range: 'ranged' | 'whole' | 'wrong' | 'refused' | null;
}

/** What a probe knows of the grant that it used. */
export interface SeenGrant {
  /** `exchanged` and `refreshed`: by this command, just now. */
  from: 'exchanged' | 'refreshed' | 'stored';
  clientAuthentication: string;
  /** Why the token endpoint did not accept the client. */
  clientRefused: string | null;
  scope: string;
  /** The life that the token endpoint named; `null`: none that can be used. */
  lifeSeconds: number | null;
  /** It named one in a form that is neither a number nor a text. */
  oddLife: boolean;
  /** Seconds that it had lived when the probe began. */
  ageSeconds: number;
}

/** All that is kept of a meeting with the CRM. */
export interface Conversation {
  grant: SeenGrant;
  /** The scopes of the configuration. */
  scopes: string[];
  exchanges: Exchange[];
  fields: SeenFields[];
  exports: SeenExport[];
  /** A filter that was tried lacks a key of the assumed definition. */
  otherFilter?: boolean;
  /** The answer to one change, where one was asked for. */
  update: { status: number | null; shape: string; isObject: boolean } | null;
}
