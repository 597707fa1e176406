import type { FaultInput } from './world/fault-schema.ts';
import type { Settings } from './world/settings.ts';

/** A CRM that the document does not forbid. */
export interface Dialect {
  name: string;
  settings: Partial<Settings>;
  faults?: FaultInput[];
  /** Ids of the open points of which a client can see that they are otherwise than `open-points.md` names as the default. */
  otherwise: string[];
}

type Written = NonNullable<FaultInput['written']>;

const written = (as: Written, more: Partial<FaultInput> = {}): FaultInput[] => [{ path: 'file', written: as, ...more }];
const instead = (body: string, contentType: string): FaultInput[] => [{ path: 'file', body, contentType }];
const WORKBOOK = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** Stage 1, fields and updates. */
const ANSWERS: Dialect[] = [
  { name: 'an id that is called jobId', settings: { createAnswer: 'jobId' }, otherwise: ['export-id-field'] },
  { name: 'an id inside of export', settings: { createAnswer: 'nested' }, otherwise: ['export-id-field'] },
  { name: 'an id that is called uuid', settings: { createAnswer: 'uuid' }, otherwise: ['export-id-field'] },
  { name: 'an id as a bare string', settings: { createAnswer: 'string' }, otherwise: ['export-id-field'] },
  { name: 'numbers as ids', settings: { exportIds: 'numbers' }, otherwise: ['export-id-field'] },
  { name: 'one id for all exports of an entity', settings: { exportIds: 'perEntity' }, otherwise: ['export-ids'] },
  { name: 'fields as names alone', settings: { fieldsShape: 'names' }, otherwise: ['fields-shape'] },
  { name: 'fields in an object by name', settings: { fieldsShape: 'byName' }, otherwise: ['fields-shape'] },
  { name: 'fields with name instead of fieldName', settings: { fieldsShape: 'name' }, otherwise: ['fields-shape'] },
  { name: 'fields under items', settings: { fieldsShape: 'items' }, otherwise: ['fields-shape'] },
  { name: 'an update answered by 204', settings: { updateAnswer: 'nothing' }, otherwise: ['update-answer'] },
  { name: 'an update answered by an array', settings: { updateAnswer: 'array' }, otherwise: ['update-answer'] },
  {
    name: 'an update answered by a word, errors by a text',
    settings: { updateAnswer: 'text', errorBody: 'text' },
    otherwise: ['update-answer'],
  },
  {
    name: 'no agent numbers at the hyphenated address',
    settings: {},
    faults: [
      { path: 'fields', entity: 'agent-numbers', answer: { status: 404 } },
      { path: 'create', entity: 'agent-numbers', answer: { status: 404 } },
    ],
    otherwise: ['agent-numbers-address'],
  },
  { name: 'filters that are refused', settings: { takesFilters: false }, otherwise: ['filter-definition'] },
];

/** Stage 2 and errors. */
const RECORDS: Dialect[] = [
  { name: 'other status words', settings: { statusWords: 'others' }, otherwise: ['status-words'] },
  { name: 'a record under data', settings: { recordShape: 'wrapped' }, otherwise: ['status-record'] },
  { name: 'a record under export', settings: { recordShape: 'inExport' }, otherwise: ['status-record'] },
  { name: 'a record with another id', settings: { recordShape: 'otherId' }, otherwise: ['status-record'] },
  {
    name: 'small letters, 202 and Retry-After for all',
    settings: {
      statusWords: 'lower',
      goodStatus: { create: 202, status: 202 },
      headers: { 'Retry-After': '1', 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '59' },
      errorBody: 'html',
      fieldsShape: 'renamed',
    },
    otherwise: [],
  },
  {
    name: 'errors without a body, the unknown forbidden',
    settings: { errorBody: 'nothing', unknownExport: 403, earlyDownload: 404, linkAnswer: 'data' },
    otherwise: [],
  },
  { name: 'an error that is answered 200', settings: { unknownExport: 200 }, otherwise: ['error-bodies'] },
  {
    name: 'too many requests, with Retry-After',
    settings: { errorBody: 'list', earlyDownload: 410, headers: { RateLimit: '"default";r=50;t=30' } },
    faults: [
      {
        path: 'fields',
        entity: 'employers',
        answer: { status: 429, headers: { 'Retry-After': '1' }, body: 'slow down' },
      },
    ],
    otherwise: [],
  },
  {
    name: 'too many requests, with a wait that is no number',
    settings: { errorBody: 'code', recordShape: 'withData' },
    faults: [{ path: 'fields', entity: 'employers', answer: { status: 429, headers: { 'Retry-After': 'PT30S' } } }],
    otherwise: ['rate-limits'],
  },
];

/** Stage 3 and the file. */
const FILES: Dialect[] = [
  { name: 'a link as downloadUrl', settings: { linkAnswer: 'downloadUrl' }, otherwise: ['file-host'] },
  { name: 'a link without a host', settings: { linkAnswer: 'relative' }, otherwise: ['file-host'] },
  { name: 'a link of another host', settings: { linkHost: 'files.crm.example' }, otherwise: ['file-host'] },
  { name: 'a link that is good once', settings: { linkHost: 'localhost', linkUses: 1 }, otherwise: [] },
  { name: 'a link for one minute', settings: { linkLife: 'amazon', urlSeconds: 60 }, otherwise: ['link-lifetime'] },
  {
    name: 'no ranges and no ETag',
    settings: { range: false, linkLife: 'hidden' },
    faults: [{ path: 'file', noEtag: true }],
    otherwise: ['range-support'],
  },
  { name: 'a file before PROCESSED', settings: { earlyDownload: 200 }, otherwise: ['early-download'] },
  { name: 'a workbook', settings: {}, faults: written({ format: 'xlsx' }, { contentType: WORKBOOK }), otherwise: [] },
  {
    name: 'a workbook with titles and a second sheet',
    settings: {},
    faults: written({ format: 'xlsx', titleRows: 2, moreSheets: 1 }, { contentType: WORKBOOK }),
    otherwise: ['spreadsheets'],
  },
  {
    name: 'a file of zip',
    settings: {},
    faults: written({ packed: 'zip' }, { contentType: 'application/zip' }),
    otherwise: ['file-format'],
  },
  { name: 'JSON lines', settings: {}, faults: written({ format: 'json-lines' }), otherwise: ['file-format'] },
  {
    name: 'a web page in place of the file',
    settings: {},
    faults: instead('<!doctype html><title>Sign in</title>', 'text/html'),
    otherwise: ['file-format'],
  },
  {
    name: 'a CSV file for Excel: sep=;, a byte order mark, labels',
    settings: {},
    faults: written({ header: 'labels', separator: ';', separatorLine: true, byteOrderMark: true }),
    otherwise: ['csv-dialect'],
  },
  {
    name: 'windows-1255 with labels',
    settings: {},
    faults: written({ header: 'labels', encoding: 'windows-1255' }),
    otherwise: ['csv-dialect'],
  },
  {
    name: 'labels that are listed nowhere',
    settings: { fieldsShape: 'plain' },
    faults: written({ header: 'labels' }),
    otherwise: ['file-proof', 'header-texts'],
  },
  {
    name: 'a header of other texts',
    settings: {},
    faults: written({ header: 'numbers' }),
    otherwise: ['file-proof', 'header-texts'],
  },
  {
    name: 'no header',
    settings: {},
    faults: written({ header: 'none' }),
    otherwise: ['file-proof', 'header-texts'],
  },
  { name: 'names in capitals', settings: {}, faults: written({ header: 'capitals' }), otherwise: ['names-spelling'] },
  {
    name: 'not even a header for no records',
    settings: { rows: 0 },
    faults: instead('', 'text/csv'),
    otherwise: ['empty-exports'],
  },
];

/** Tokens. */
const TOKENS: Dialect[] = [
  {
    name: 'client authentication in the form only',
    settings: { clientAuthentication: ['post'] },
    otherwise: ['client-authentication'],
  },
  { name: 'a token in another header', settings: { tokenHeader: 'x-access-token' }, otherwise: ['token-presentation'] },
  { name: 'exports by another scope', settings: { exportScope: 'exports:read' }, otherwise: ['export-scope'] },
  {
    name: 'a token that names another scope',
    settings: { tokenAnswer: { scope: 'openid exports:read' } },
    otherwise: ['export-scope'],
  },
  {
    name: 'a token without scope, with a life in words, and no rotation',
    settings: { tokenAnswer: { scope: null, expires_in: '3600' }, rotation: 'none' },
    otherwise: [],
  },
  {
    name: 'a life that is an object',
    settings: { tokenAnswer: { expires_in: { seconds: 3600 } } },
    otherwise: ['expires-in'],
  },
  {
    name: 'a token that dies before its time',
    settings: { accessTokenSeconds: 3, tokenAnswer: { expires_in: 3600 } },
    otherwise: ['expires-in'],
  },
];

/** CRMs that answer as the document allows, otherwise than is assumed, or otherwise but as is assumed (`otherwise: []`). */
export const DIALECTS: Dialect[] = [...ANSWERS, ...RECORDS, ...FILES, ...TOKENS];
