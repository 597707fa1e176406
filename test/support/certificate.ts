import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll } from 'vitest';
import { makeCertificate } from '../../bench/files/servers.ts';

/** A certificate of a server on loopback, which this process trusts until the end of the test file. */
export function trustedCertificate(): { cert: string; key: string } {
  const dir = mkdtempSync(join(tmpdir(), 'certificate-'));
  try {
    makeCertificate(join(dir, 'cert.pem'), join(dir, 'key.pem'));
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(dir, name), 'utf8')) as [
      string,
      string,
    ];
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, cert]);
    afterAll(() => setDefaultCACertificates(before));
    return { cert, key };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
