import type { OpenPoint } from './open-point.ts';

/** What a file is, and how it comes. */
export const FILES = [
  {
    id: 'file-format',
    point: 'Export file format',
    assumed: 'unknown: CSV and xlsx are equally likely',
    tolerated:
      "bytes are stored exactly as they came; the kind is recognised by the bytes (name and type only break ties). CSV and xlsx, each also as gzip or as the only entry of a zip, are read to their end: header, rows, width. Anything else is `FileRejected`, unless the entity's `opaque` names its kind: then it is published unjudged and says so",
    observed: 'the kind of the bytes of the file',
    assumedIn: 'core/files/file-kind.ts',
    setting: 'entities.ENTITY.opaque',
  },
  {
    id: 'csv-dialect',
    point: 'CSV dialect',
    assumed: 'comma, LF or CRLF, UTF-8',
    tolerated:
      '`;`, tab, CR, a byte order mark, UTF-16, windows-1255, a `sep=` line are recognised and told in the manifest; what is counted is right or null, never wrong',
    observed:
      'where the file is a CSV: its encoding, line breaks and first line; the separator not, for there is one column',
    assumedIn: 'core/files/csv-start.ts',
  },
  {
    id: 'file-proof',
    point: 'What proves a CSV or a sheet',
    assumed:
      'all names of its first record are field names or labels that the CRM lists; or, from three columns on, it and the next record are as wide as was asked for and it begins with none of `{`, `[`, `<`: such a file waits for a person (quarantine) until one was released',
    tolerated:
      'else `FileRejected`; a header goes into the manifest only as names that the fields answer lists, so no record ever does',
    observed: 'whether the first record of the file proves it',
    assumedIn: 'core/files/judge-file.ts',
    setting: 'entities.ENTITY.columns',
  },
  {
    id: 'names-spelling',
    point: 'Spelling of names',
    assumed: 'as the CRM lists them',
    tolerated:
      'what a person configures to leave out is found exactly first, then folded (case, Unicode form, separators, quotation marks, invisible characters) and by label; an entry that is in no list stops the run',
    observed: 'the name in the header of the file beside the list of fields',
    assumedIn: 'core/files/field-names.ts',
  },
  {
    id: 'header-texts',
    point: "Texts of a file's header",
    assumed: 'names or labels of the fields answer',
    tolerated: '`columns.labels` names further ones; `columns.header: "none"` for files without a header',
    observed: 'whether the header of the file has names, labels or other texts',
    assumedIn: 'core/files/field-names.ts',
    setting: 'entities.ENTITY.columns.labels',
  },
  {
    id: 'spreadsheets',
    point: 'Spreadsheets',
    assumed: 'one visible sheet with a header in its first 20 rows',
    tolerated: 'title rows above it; several sheets wait for a person',
    observed: 'where the file is a spreadsheet: its sheets, and where its header is',
    assumedIn: 'core/spreadsheet/sheet-facts.ts',
  },
  {
    id: 'export-ids',
    point: 'Export ids',
    assumed: 'new for every export',
    tolerated: 'an id that a compared export of another date carries: the file waits for a person',
    observed: 'where more than one export was made: their ids',
    assumedIn: 'core/gate/checks.ts',
  },
  {
    id: 'link-lifetime',
    point: 'Lifetime of the download URL',
    assumed: 'short; design for 5 minutes',
    tolerated: 'ask for it right before the GET; on 403/410 ask again',
    observed:
      'where the address of the file says it: its parameters `Expires`, `X-Amz-Expires`, `X-Goog-Expires`, `se`',
    assumedIn: 'transfer/source/link.ts',
  },
  {
    id: 'file-host',
    point: 'Host of the file URL',
    assumed: 'the host of the base address',
    tolerated: '`crm.fileHosts` names others; https on port 443, never an IP address or a name of an own network',
    observed: 'the answer to the request for the file: whether it has an address in `url`, and of which host',
    assumedIn: 'core/config/file-settings.ts',
    setting: 'crm.fileHosts',
  },
  {
    id: 'range-support',
    point: 'Range support of the file URL',
    assumed: 'unknown',
    tolerated: 'probed; a single stream where there is none',
    observed: 'a second GET, of a few bytes, once the first is complete',
    assumedIn: 'transfer/source/open.ts',
  },
  {
    id: 'early-download',
    point: 'Stage 3 called before PROCESSED, or before the server that answers knows the export',
    assumed: '4xx (409, 404 and 410 are common)',
    tolerated: 'back to waiting, within the deadline; 404 and 410 for at most half an hour in a row',
    observed: 'only with `--early`: one request for the file of an export of its own before it is PROCESSED',
    assumedIn: 'core/crm/exports.ts',
  },
] as const satisfies readonly OpenPoint[];
