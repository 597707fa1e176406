/** Errors without a connection or handshake: the request was not processed. Other ERR_SSL_* may come in an answer. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  // The same alert, as older and newer releases of OpenSSL name it.
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
]);

/** The code of a failed request, which `fetch` puts into a nested cause of its error. */
export function codeOf(error: unknown): string | undefined {
  return chain(error).map(wordOf('code')).find(Boolean);
}

/** Whether a failed request was certainly not sent: every address of the host failed to connect. */
export function neverSent(error: unknown): boolean {
  return chain(error).some((link) => {
    // Node tries all addresses of a host and reports their errors together.
    const attempts = link instanceof AggregateError && link.errors.length > 0 ? link.errors : [link];
    return attempts.every((at) => wordOf('syscall')(at) === 'connect' || NEVER_SENT.has(wordOf('code')(at) ?? ''));
  });
}

/** The error and its causes. */
function chain(error: unknown): Error[] {
  const links: Error[] = [];
  for (let at = error; at instanceof Error && links.length < 5; at = at.cause) links.push(at);
  return links;
}

const wordOf =
  (name: 'code' | 'syscall') =>
  (error: unknown): string | undefined => {
    const word: unknown = error instanceof Error ? Reflect.get(error, name) : undefined;
    return typeof word === 'string' ? word : undefined;
  };
