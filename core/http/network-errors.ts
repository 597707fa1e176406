/**
 * Errors before the connection or handshake was complete, so the request was not processed; errors of `connect` are
 * recognised by their system call. Other ERR_SSL_* errors may come during an answer.
 */
const NEVER_SENT = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  // Two names of the same alert, from older and newer releases of OpenSSL.
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
]);

/** Whether the certificate of the server is not trusted: https://nodejs.org/api/tls.html#x509-certificate-error-codes. */
export function isUntrusted(code: string): boolean {
  return /^(?!ERR_SSL_).*CERT|^UNABLE_TO_/.test(code);
}

/** The code of a failed request. `fetch` puts it into a nested cause of its error. */
export function codeOf(error: unknown): string | undefined {
  return chain(error).map(wordOf('code')).find(Boolean);
}

/** Whether a failed request was certainly not sent: every address of the host failed to connect. */
export function neverSent(error: unknown): boolean {
  return chain(error).some((link) => {
    // Node tries all addresses of a host and reports their errors together.
    const attempts = link instanceof AggregateError && link.errors.length > 0 ? link.errors : [link];
    return attempts.every((at) => {
      const code = wordOf('code')(at) ?? '';
      return wordOf('syscall')(at) === 'connect' || NEVER_SENT.has(code) || isUntrusted(code);
    });
  });
}

/** An error and its causes. */
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
