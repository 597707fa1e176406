import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

/**
 * Writes the assembly of this release, synthesised from this checkout, for upgrade tests: `npm run release-fixture`. It
 * leaves out source maps and files that `cdk deploy` does not read.
 */

const PROJECT = join(import.meta.dirname, '..');
const FIXTURE = join(PROJECT, 'test', 'long', 'fixtures', 'release.tar.br');
/** The deployment of the fixture. Tests insert their addresses (`test/long/support/fixture-release.ts`). */
const DEPLOYMENT = 'upgrade';
const CONFIGURATION = {
  local: true,
  crm: { baseUrl: 'http://127.0.0.1:1/api/v1', authUrl: 'http://127.0.0.1:1/auth' },
  customerUpdates: true,
  updates: { concurrency: 1, maxRate: 1000 },
};
const READ_BY_CDK = /^(asset\..*|cdk\.out|manifest\.json|.*\.(assets|template)\.json)$/;

const dir = mkdtempSync(join(tmpdir(), 'release-fixture-'));
try {
  writeFileSync(FIXTURE, packed(synthesised(dir)));
} finally {
  rmSync(dir, { recursive: true, force: true });
}

/** Runs the app as the CDK CLI does. @returns the folder of the assembly */
function synthesised(dir: string): string {
  const configuration = join(dir, 'configuration.json');
  const outdir = join(dir, 'cdk.out');
  writeFileSync(configuration, JSON.stringify(CONFIGURATION));
  const { context } = JSON.parse(readFileSync(join(PROJECT, 'cdk.json'), 'utf8'));
  const env = {
    ...process.env,
    AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    CDK_OUTDIR: outdir,
    CDK_CONTEXT_JSON: JSON.stringify({ ...context, deployment: DEPLOYMENT, configuration }),
  };
  execFileSync('node', ['bin/app.ts'], { cwd: PROJECT, env, stdio: ['ignore', 'ignore', 'inherit'] });
  return outdir;
}

/** The bundles share much code: Brotli with a window over all bundles gives a third of the size that gzip gives. */
function packed(outdir: string): Buffer {
  const manifest = join(outdir, 'manifest.json');
  // Metadata contains this machine's path of each construct's source.
  const without = (key: string, value: unknown) => (key === 'additionalMetadataFile' ? undefined : value);
  writeFileSync(manifest, JSON.stringify(JSON.parse(readFileSync(manifest, 'utf8'), without)));
  const files = readdirSync(outdir).filter((file) => READ_BY_CDK.test(file));
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--exclude=*.map'];
  const tar = execFileSync('tar', ['-C', outdir, ...same, '-cf', '-', ...files], { maxBuffer: 2 ** 26 });
  return brotliCompressSync(tar, { params: { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS } });
}
