import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../local/ministack/ports.ts';
import { EnvironmentError } from '../../local/processes/environment-error.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';

/** The rate of one connection to the slow origin. */
const BYTES_PER_SECOND = 20_000_000;
/** The core of the servers. The client has another core. */
const SERVER_CORE = '1';

const PARTS = '<ListPartsResult><UploadId>upload-1</UploadId><IsTruncated>false</IsTruncated></ListPartsResult>';

/** The origin and the sink, with their loopback ports. */
export type Servers = Awaited<ReturnType<typeof startServers>>;

/**
 * Starts the origin and the sink on free ports of loopback. @throws EnvironmentError when they do not start
 * @param dir for this run: certificate, sockets, logs, and `files/bench/` with the files
 */
export async function startServers(dir: string) {
  const ports = { origin: await freePort(), slow: await freePort(), sink: await freePort() };
  mkdirSync(join(dir, 'files', 'bench'), { recursive: true });
  makeCertificate(join(dir, 'cert.pem'), join(dir, 'key.pem'));
  writeFileSync(join(dir, 'nginx.conf'), nginxConf(dir, ports));
  const sockets = ['sink.sock', 'slow.sock'].map((name) => join(dir, name));
  const world = ['python3', join(import.meta.dirname, 'world.py'), ...sockets, join(dir, 'files')];
  const children = [
    startPinned([...world, String(BYTES_PER_SECOND)]),
    startPinned(['nginx', '-p', dir, '-c', join(dir, 'nginx.conf'), '-g', 'daemon off;']),
  ];
  process.once('exit', () => {
    for (const child of children) child.kill();
  });
  const stop = async () => {
    await Promise.all(children.map(async (child) => child.exitCode ?? (child.kill() && once(child, 'exit'))));
  };
  const up = () => [...sockets, join(dir, 'nginx.pid')].every((file) => existsSync(file));
  if (!(await waitUntil(up, { withinMs: 10_000 }))) {
    await stop();
    throw new EnvironmentError('The servers of the benchmark did not start.', { logFile: join(dir, 'error.log') });
  }
  const log = join(dir, 'sink.log');
  const https = (port: number) => `https://127.0.0.1:${port}`;
  return {
    ...{ dir, stop, certificate: join(dir, 'cert.pem') },
    ...{ origin: https(ports.origin), slow: https(ports.slow), sink: https(ports.sink) },
    /** The bytes that were sent to the sink since the last call. */
    sentBytes: () => {
      const lines = readFileSync(log, 'utf8').split('\n');
      writeFileSync(log, '');
      return lines.reduce((sum, line) => sum + Number(line), 0);
    },
  };
}

function startPinned(command: string[]) {
  return spawn('taskset', ['-c', SERVER_CORE, ...command], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The configuration of nginx for origin and sink: TLS, the files of the origin, and an S3 that stores nothing. */
function nginxConf(dir: string, ports: Record<'origin' | 'slow' | 'sink', number>): string {
  return `
user root; worker_processes 1; worker_rlimit_nofile 4096; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  sendfile on; default_type text/csv; access_log off; client_max_body_size 0; client_body_buffer_size 256k;
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi; scgi_temp_path ${dir}/scgi;
  ssl_protocols TLSv1.3; ssl_certificate ${dir}/cert.pem; ssl_certificate_key ${dir}/key.pem;
  keepalive_requests 1000000; keepalive_timeout 300;
  proxy_http_version 1.1; proxy_set_header Connection "";
  log_format bytes '$request_length';
  upstream sink { server unix:${dir}/sink.sock; keepalive 64; }
  upstream slow { server unix:${dir}/slow.sock; keepalive 64; }
  server { listen 127.0.0.1:${ports.origin} ssl; root ${dir}/files; output_buffers 2 256k; }
  server {
    listen 127.0.0.1:${ports.slow} ssl;
    location / { proxy_pass http://slow; proxy_buffering off; proxy_buffer_size 64k; proxy_buffers 8 64k; }
  }
  server {
    listen 127.0.0.1:${ports.sink} ssl; access_log ${dir}/sink.log bytes; root ${dir}/files;
    location / {
      if ($request_method ~ ^(PUT|POST)$) { rewrite ^ /-sink last; }
      if ($arg_uploadId) { rewrite ^ /-parts last; }
    }
    location = /-sink { internal; proxy_pass http://sink; proxy_request_buffering off; }
    location = /-parts { internal; default_type application/xml; return 200 '${PARTS}'; }
  }
}
`;
}

/** Creates a certificate for loopback, valid for two days, and its key with OpenSSL. */
export function makeCertificate(certificate: string, key: string): void {
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const args = ['req', '-x509', ...newKey, '-days', '2', ...name, '-out', certificate];
  execFileSync('openssl', args, { stdio: 'ignore' });
}
