import type { Draw } from '../../../../sandbox/data/draw.ts';
import { COLUMNS, type ColumnName, type Texture } from './columns.ts';

/** How a CRM writes the same export every night, and what the settings promise of it. */
export interface Service {
  kind: 'csv' | 'xlsx';
  compression: null | 'gzip' | 'zip';
  /** The requested columns, in order. */
  columns: ColumnName[];
  header: HeaderStyle;
  dialect: Dialect;
  sheet: SheetStyle;
  texture: Texture;
  /** Nights that are published before. */
  nights: number;
  /** About so many rows each night. */
  rows: number;
  /** A last line that tells their number; a person has released one. */
  total: boolean;
  except: boolean;
  required: ColumnName[];
  drift: { added?: 'stop'; removed?: 'stop' };
  minRows: number | undefined;
  maxShrink: number | undefined;
}

/** `told`: texts of `columns.labels`. `unknown`: texts that nobody lists; a person has released one. `none`: there is no header. */
export type HeaderStyle = 'plain' | 'labels' | 'capitals' | 'separated' | 'path' | 'told' | 'unknown' | 'none';

export interface Dialect {
  separator: ',' | ';' | '\t';
  lineBreak: '\n' | '\r\n' | '\r';
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1255';
  byteOrderMark: boolean;
  separatorLine: boolean;
  quoting: 'needed' | 'all';
  finalBreak: boolean;
  /** Rows that are empty in every cell, behind the others. */
  emptyRows: number;
}

export interface SheetStyle {
  titles: number;
  strings: 'inline' | 'shared';
  /** Numbers and dates are stored as such. */
  typed: boolean;
  emptyStyledRows: number;
  /** A further sheet without a value. */
  emptySheet: boolean;
  wrongDimension: boolean;
}

/** What a bad file needs of its service for that to be a promise. */
export type Wish = Partial<Pick<Service, 'kind' | 'compression' | 'except' | 'drift' | 'header' | 'total'>> & {
  required?: true;
  minRows?: true;
  /** The rows are judged by those of nights before. */
  usual?: true;
  /** At least so many columns. */
  width?: number;
};

export function drawService(draw: Draw, kinds: readonly Service['kind'][], wish: Wish = {}): Service {
  const kind = wish.kind ?? (kinds.includes('xlsx') && draw.chance(0.3) ? 'xlsx' : 'csv');
  const except = wish.except ?? draw.chance(0.3);
  const drift =
    wish.drift ?? draw.pick([{}, {}, { added: 'stop' }, { removed: 'stop' }, { added: 'stop', removed: 'stop' }]);
  const header = wish.header ?? drawHeader(draw, except);
  const columns = drawColumns(draw, Math.max(wish.width ?? 1, header === 'unknown' ? 3 : header === 'none' ? 2 : 1));
  const encoding = draw.pick(['utf-8', 'utf-8', 'utf-8', 'utf-16le', 'utf-16be', 'windows-1255'] as const);
  const dialect = drawDialect(draw, encoding);
  const rows = wish.usual || wish.minRows ? draw.int(30, 200) : draw.chance(0.15) ? draw.int(1, 5) : draw.int(6, 300);
  const nights = Math.max(draw.int(0, 3), wish.usual || header === 'unknown' ? 2 : 0);
  const compression = draw.pick([null, null, 'gzip', 'zip'] as const);
  return {
    ...{ kind, columns, header, dialect, nights, rows, except, drift },
    compression: wish.compression ?? (kind === 'xlsx' && draw.chance(0.8) ? null : compression),
    sheet: drawSheet(draw),
    texture: {
      hebrew: encoding === 'windows-1255' || draw.chance(0.5),
      odd: draw.chance(0.6) ? oddTexts(draw, dialect) : [],
    },
    total:
      wish.total ?? (kind === 'csv' && columns.length > 1 && nights > 1 && header !== 'unknown' && draw.chance(0.08)),
    required: wish.required || draw.chance(0.25) ? [columns.at(-1) ?? 'id'] : [],
    minRows: wish.minRows || draw.chance(0.2) ? Math.floor(rows / 2) : undefined,
    maxShrink: draw.pick([undefined, undefined, 0.3, 0.8]),
  };
}

function drawHeader(draw: Draw, except: boolean): HeaderStyle {
  const known = ['plain', 'plain', 'plain', 'labels', 'labels', 'capitals', 'separated', 'path', 'told'] as const;
  return except ? draw.pick(known) : draw.pick([...known, 'unknown', 'none'] as unknown as readonly [HeaderStyle]);
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
  };
}

function drawSheet(draw: Draw): SheetStyle {
  return {
    titles: draw.chance(0.3) ? draw.int(1, 4) : 0,
    strings: draw.pick(['inline', 'shared'] as const),
    typed: draw.chance(0.6),
    emptyStyledRows: draw.chance(0.2) ? 500 : 0,
    emptySheet: draw.chance(0.2),
    wrongDimension: draw.chance(0.2),
  };
}

/** Of the own line breaks, so that a text with one is in quotation marks. */
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
export const TOLD: Partial<Record<ColumnName, string>> = {
  id: 'Kennung',
  name: 'Wer',
  phone: 'Telefon',
  notes: 'Anmerkung',
};

/** Settings of the entity, as the configuration has them. */
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

/** However a person may write it. */
function entryFor(columns: readonly string[]): string {
  return ['idNumber', 'IdNumber', 'id_number', 'מספר זהות'][columns.length % 4] ?? 'idNumber';
}
