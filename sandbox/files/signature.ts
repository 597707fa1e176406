import { createHmac } from 'node:crypto';
import type { Job } from '../world/jobs.ts';
import type { World } from '../world/world.ts';

function sign({ fileKey, settings }: World, path: string, expires: string): string {
  const mac = createHmac('sha256', fileKey).update(`${path}\n${expires}`).digest('base64url');
  return settings.canary === '' ? mac : `${settings.canary}.${mac}`;
}

/** The address of an export's file, valid for `urlSeconds`: anyone who has it may fetch the file. */
export function signedFileUrl(world: World, origin: string, { entity, id }: Job): string {
  const url = new URL(`/files/${entity}/${id}/${entity}.csv`, origin);
  const expires = String(world.clock.now() + world.settings.urlSeconds * 1000);
  url.searchParams.set('expires', expires);
  url.searchParams.set('signature', sign(world, url.pathname, expires));
  return url.href;
}

/** Why a file URL is refused; undefined where it is valid. */
export function urlRefusal(world: World, { pathname, searchParams }: URL): string | undefined {
  const expires = searchParams.get('expires') ?? '';
  if (searchParams.get('signature') !== sign(world, pathname, expires)) return 'SignatureDoesNotMatch';
  return Number(expires) <= world.clock.now() ? 'RequestExpired' : undefined;
}
