import { createHmac } from 'node:crypto';
import type { Job } from '../world/jobs.ts';
import type { Settings } from '../world/settings.ts';
import type { World } from '../world/world.ts';

/** The parameters that say until when a file URL is valid (milliseconds since the epoch), and the one of its signature. */
interface LinkLife {
  write: (expires: number, now: number) => Record<string, string>;
  read: (parameter: (name: string) => string) => number;
  signature: string;
}

const LIVES: Record<Settings['linkLife'], LinkLife> = {
  expires: {
    write: (expires) => ({ expires: String(expires) }),
    read: (parameter) => Number(parameter('expires')),
    signature: 'signature',
  },
  amazon: {
    write: (expires, now) => ({
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Date': `${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`,
      'X-Amz-Expires': String(Math.ceil((expires - now) / 1000)),
    }),
    read: (parameter) => {
      const date = parameter('X-Amz-Date').replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
      return Date.parse(date) + Number(parameter('X-Amz-Expires')) * 1000;
    },
    signature: 'X-Amz-Signature',
  },
  hidden: {
    write: (expires) => ({ k: expires.toString(36) }),
    read: (parameter) => Number.parseInt(parameter('k'), 36),
    signature: 's',
  },
};

function sign({ fileKey, settings }: World, path: string, expires: number): string {
  const mac = createHmac('sha256', fileKey).update(`${path}\n${expires}`).digest('base64url');
  return settings.canary === '' ? mac : `${settings.canary}.${mac}`;
}

/** The address of an export's file, valid for `urlSeconds`: anyone who has it may fetch the file. */
export function signedFileUrl(world: World, origin: string, { entity, id }: Job): URL {
  const { linkLife, linkHost, urlSeconds } = world.settings;
  const url = new URL(`/files/${entity}/${id}/${entity}.csv`, origin);
  if (linkHost !== '') url.hostname = linkHost;
  const now = world.clock.now();
  const life = LIVES[linkLife];
  const written = Object.entries(life.write(now + urlSeconds * 1000, now));
  for (const [name, value] of written) url.searchParams.set(name, value);
  url.searchParams.set(life.signature, sign(world, url.pathname, expiryOf(life, url)));
  return url;
}

function expiryOf({ read }: LinkLife, { searchParams }: URL): number {
  return read((name) => searchParams.get(name) ?? '');
}

/** Why a file URL is refused; undefined where it is valid. @param uses how often it was answered before */
export function urlRefusal(world: World, url: URL, uses: number): string | undefined {
  const life = LIVES[world.settings.linkLife];
  const expires = expiryOf(life, url);
  const isSigned = url.searchParams.get(life.signature) === sign(world, url.pathname, expires);
  if (!isSigned) return 'SignatureDoesNotMatch';
  const { linkUses } = world.settings;
  if (linkUses !== null && uses >= linkUses) return 'LinkUsedBefore';
  return expires <= world.clock.now() ? 'RequestExpired' : undefined;
}
