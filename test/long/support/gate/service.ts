import type { Draw, List } from '../../../../sandbox/data/draw.ts';
import { COLUMNS, type ColumnName, type Texture } from './columns.ts';

/** How a CRM writes the same export every night, and the promises in the settings about that export. */
export interface Service {
  kind: 'csv' | 'xlsx';
  compression: null | 'gzip' | 'zip';
  /** The requested columns, in order. */
  columns: ColumnName[];
  header: HeaderStyle;
  dialect: Dialect;
  sheet: SheetStyle;
  texture: Texture;
  /** The number of earlier published nights. */
  nights: number;
  /** The approximate number of rows each night. */
  rows: number;
  /** Whether a last line contains the row count; a person has released one. */
  total: boolean;
  except: boolean;
  required: ColumnName[];
  drift: { added?: 'stop'; removed?: 'stop' };
  minRows: number | undefined;
  maxShrink: number | undefined;
}

/** `told`: texts of `columns.labels`. `unknown`: unlisted texts; a person has released one. `none`: no header. */
export type HeaderStyle = 'plain' | 'labels' | 'capitals' | 'separated' | 'path' | 'told' | 'unknown' | 'none';

export interface Dialect {
  separator: ',' | ';' | '\t';
  lineBreak: '\n' | '\r\n' | '\r';
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1255';
  byteOrderMark: boolean;
  separatorLine: boolean;
  quoting: 'needed' | 'all';
  finalBreak: boolean;
  emptyRows: number;
  /** The number of lines above a header of listed texts. */
  titles: number;
  /** Whether the header, or the rows, end with a separator. */
  trailing: 'none' | 'header' | 'rows';
}

export interface SheetStyle {
  titles: number;
  strings: 'inline' | 'shared';
  /** Whether numbers and dates have their types. */
  typed: boolean;
  emptyStyledRows: number;
  /** Whether there is another sheet without values. */
  emptySheet: boolean;
}

/** The properties of a service for which a bad file breaks a promise. */
export type Wish = Partial<Pick<Service, 'kind' | 'compression' | 'except' | 'drift' | 'header'>> & {
  required?: true;
  minRows?: true;
  /** Whether the row counts of earlier nights must exist. */
  usual?: true;
  /** The least number of columns. */
  width?: number;
  /** Whether the header has listed texts. */
  named?: true;
};

export function drawService(draw: Draw, kinds: readonly Service['kind'][], wish: Wish = {}): Service {
  const kind = wish.kind ?? (kinds.includes('xlsx') && draw.chance(0.3) ? 'xlsx' : 'csv');
  const except = wish.except ?? (!isUnlisted(wish.header) && draw.chance(0.3));
  const header = wish.header ?? drawHeader(draw, except || wish.named === true);
  const columns = drawColumns(draw, Math.max(wish.width ?? 1, NARROWEST[header] ?? 1));
  const encoding = draw.pick(ENCODINGS);
  const dialect = fitting(drawDialect(draw, encoding), header, columns.length);
  const nights = Math.max(draw.int(0, 3), wish.usual || header === 'unknown' ? 2 : 0);
  const compression = drawCompression(draw, kind);
  const promises = drawPromises(draw, wish, columns.at(-1) ?? 'id');
  const total = kind === 'csv' && columns.length > 1 && nights > 1 && promises.rows > MANY && draw.chance(0.2);
  return {
    kind,
    columns,
    header,
    dialect,
    nights,
    except,
    total,
    compression: wish.compression === undefined ? compression : wish.compression,
    sheet: drawSheet(draw),
    texture: drawTexture(draw, dialect),
    ...promises,
  };
}

/** Below titles, a header is found by its texts. A single column has no different width. */
function fitting(dialect: Dialect, header: HeaderStyle, width: number): Dialect {
  if (isUnlisted(header)) return { ...dialect, titles: 0, trailing: 'none' };
  return width === 1 ? { ...dialect, trailing: 'none' } : dialect;
}

/** With this many records, one with a different width is a small share. */
const MANY = 120;
const ENCODINGS = ['utf-8', 'utf-8', 'utf-8', 'utf-16le', 'utf-16be', 'windows-1255'] as const;
/** The minimum number of columns for recognising such files. */
const NARROWEST: Partial<Record<HeaderStyle, number>> = { unknown: 3, none: 2 };
const DRIFTS: List<Service['drift']> = [
  {},
  {},
  { added: 'stop' },
  { removed: 'stop' },
  { added: 'stop', removed: 'stop' },
];

function drawPromises(
  draw: Draw,
  wish: Wish,
  last: ColumnName,
): Pick<Service, 'rows' | 'drift' | 'required' | 'minRows' | 'maxShrink'> {
  const many = wish.usual || wish.minRows;
  const rows = many ? draw.int(30, 200) : draw.chance(0.15) ? draw.int(1, 5) : draw.int(6, 300);
  return {
    rows,
    drift: wish.drift ?? draw.pick(DRIFTS),
    required: wish.required || draw.chance(0.25) ? [last] : [],
    minRows: wish.minRows || draw.chance(0.2) ? Math.floor(rows / 2) : undefined,
    maxShrink: draw.pick([undefined, undefined, 0.3, 0.8]),
  };
}

/** A spreadsheet is already compressed. */
function drawCompression(draw: Draw, kind: Service['kind']): Service['compression'] {
  return kind === 'xlsx' && draw.chance(0.8) ? null : draw.pick([null, null, 'gzip', 'zip'] as const);
}

function drawTexture(draw: Draw, dialect: Dialect): Texture {
  const hebrew = dialect.encoding === 'windows-1255' || draw.chance(0.5);
  return { hebrew, odd: draw.chance(0.6) ? oddTexts(draw, dialect) : [] };
}

/** Whether the header has no listed names: then no column may be left out. */
const isUnlisted = (header: HeaderStyle | undefined) => header === 'unknown' || header === 'none';
const KNOWN: List<HeaderStyle> = [
  ...(['plain', 'plain', 'plain', 'labels', 'labels'] as const),
  ...(['capitals', 'separated', 'path', 'told'] as const),
];

function drawHeader(draw: Draw, named: boolean): HeaderStyle {
  return draw.pick(named ? KNOWN : [...KNOWN, 'unknown', 'none']);
}

function drawColumns(draw: Draw, least: number): ColumnName[] {
  const others: ColumnName[] = ['name', 'phone', 'city', 'notes', 'score', 'updated'];
  const columns: ColumnName[] = ['id', ...others.filter(() => draw.chance(0.5))];
  for (const other of others) if (columns.length < least && !columns.includes(other)) columns.push(other);
  return columns;
}

function drawDialect(draw: Draw, encoding: Dialect['encoding']): Dialect {
  return {
    encoding,
    separator: draw.pick([',', ',', ',', ';', '\t'] as const),
    lineBreak: draw.pick(['\n', '\n', '\r\n', '\r\n', '\r'] as const),
    byteOrderMark: encoding !== 'windows-1255' && draw.chance(encoding === 'utf-8' ? 0.3 : 0.8),
    separatorLine: draw.chance(0.1),
    quoting: draw.pick(['needed', 'all'] as const),
    finalBreak: draw.chance(0.85),
    emptyRows: draw.chance(0.05) ? 2 : 0,
    titles: draw.chance(0.15) ? draw.int(1, 3) : 0,
    trailing: draw.chance(0.2) ? draw.pick(['header', 'rows'] as const) : 'none',
  };
}

function drawSheet(draw: Draw): SheetStyle {
  return {
    titles: draw.chance(0.3) ? draw.int(1, 4) : 0,
    strings: draw.pick(['inline', 'shared'] as const),
    typed: draw.chance(0.6),
    emptyStyledRows: draw.chance(0.2) ? 500 : 0,
    emptySheet: draw.chance(0.2),
  };
}

/** Special texts, including ones with the file's own line break, which need quotes. */
function oddTexts(draw: Draw, { lineBreak }: Dialect): string[] {
  return [', ', '; ', ' "quoted" ', '\t', lineBreak, draw.pick(['\n', '\r\n']), '\r', '  ', "'"].filter(() =>
    draw.chance(0.6),
  );
}

/** The header of a file, cell by cell. */
export function headerTexts({ columns, header }: Pick<Service, 'columns' | 'header'>): string[] | null {
  if (header === 'none') return null;
  return columns.map((name) => headerText(name, header));
}

export function headerText(name: ColumnName, style: HeaderStyle): string {
  if (style === 'labels') return COLUMNS[name].label ?? name;
  if (style === 'capitals') return name.toUpperCase();
  if (style === 'separated') return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  if (style === 'path') return `lead.${name}`;
  if (style === 'told') return TOLD[name] ?? name;
  return style === 'unknown' ? `Feld ${name.length} ${name.charCodeAt(0)}` : name;
}

/** Texts of `columns.labels`. */
const TOLD: Partial<Record<ColumnName, string>> = {
  id: 'Kennung',
  name: 'Wer',
  phone: 'Telefon',
  notes: 'Anmerkung',
};

/** The settings of the entity in the configuration. */
export function settingsOf({ header, except, required, drift, minRows, maxShrink, columns }: Service): object {
  const told = Object.fromEntries(columns.flatMap((name) => (TOLD[name] ? [[TOLD[name], name]] : [])));
  const chosen = {
    ...(except && { except: [entryFor(columns)] }),
    ...(required.length > 0 && { required }),
    ...(header === 'told' && Object.keys(told).length > 0 && { labels: told }),
    ...(header === 'none' && { header: 'none' }),
  };
  const guards = { ...(minRows !== undefined && { minRows }), ...(maxShrink !== undefined && { maxShrink }) };
  return { ...(Object.keys(chosen).length > 0 && { columns: chosen }), drift, guards };
}

/** A column setting in any form that a person may write. */
function entryFor(columns: readonly string[]): string {
  return ['idNumber', 'IdNumber', 'id_number', 'מספר זהות'][columns.length % 4] ?? 'idNumber';
}
