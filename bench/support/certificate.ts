import { execFileSync } from 'node:child_process';

/** Makes a certificate for loopback that is valid for two days, and its key, by OpenSSL. */
export function makeCertificate(certificate: string, key: string): void {
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const args = ['req', '-x509', ...newKey, '-days', '2', ...name, '-out', certificate];
  execFileSync('openssl', args, { stdio: 'ignore' });
}
