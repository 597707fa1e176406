/** Error codes of RFC 6749, sections 4.1.2.1 and 5.2. */
const WORDS = [
  'access_denied',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
];

/** What may be told of the `error` of an answer: anything else, also its description, may repeat a code or a token. */
export function errorWord(error: string): string {
  return WORDS.includes(error) ? error : 'another word than those of RFC 6749';
}
