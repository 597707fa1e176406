import type { Conversation } from '../conversation/exchange.ts';
import { isObservable, type Observable, OPEN_POINTS } from '../open-points/open-points.ts';
import { clientAuthentication, expiresIn, exportScope, tokenPresentation } from './access.ts';
import {
  agentNumbersAddress,
  earlyDownload,
  errorBodies,
  exportIdField,
  exportIds,
  fieldsShape,
  filterDefinition,
  rateLimits,
  statusRecord,
  statusWords,
  updateAnswer,
} from './answers.ts';
import {
  csvDialect,
  emptyExports,
  fileFormat,
  fileHost,
  fileProof,
  headerTexts,
  linkLifetime,
  namesSpelling,
  rangeSupport,
  spreadsheets,
} from './files.ts';
import type { Observer, Sighting } from './sighting.ts';

/** One for each point that can be seen, and for no other. */
const OBSERVERS: Record<Observable, Observer> = {
  'export-id-field': exportIdField,
  'filter-definition': filterDefinition,
  'fields-shape': fieldsShape,
  'token-presentation': tokenPresentation,
  'export-scope': exportScope,
  'client-authentication': clientAuthentication,
  'expires-in': expiresIn,
  'file-format': fileFormat,
  'csv-dialect': csvDialect,
  'file-proof': fileProof,
  'names-spelling': namesSpelling,
  'header-texts': headerTexts,
  spreadsheets,
  'export-ids': exportIds,
  'link-lifetime': linkLifetime,
  'file-host': fileHost,
  'range-support': rangeSupport,
  'early-download': earlyDownload,
  'status-record': statusRecord,
  'error-bodies': errorBodies,
  'rate-limits': rateLimits,
  'status-words': statusWords,
  'empty-exports': emptyExports,
  'update-answer': updateAnswer,
  'agent-numbers-address': agentNumbersAddress,
};

/** What a conversation shows of every open point, in the order of the document. */
export function sightingsOf(conversation: Conversation): Sighting[] {
  return OPEN_POINTS.map((row) => {
    if (!isObservable(row)) return { id: row.id, verdict: 'cannot be seen', what: sentence(row.cannotBeSeen) };
    return { id: row.id, ...OBSERVERS[row.id](conversation) };
  });
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
