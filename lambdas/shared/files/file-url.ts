import { RunError } from '../errors.ts';

/**
 * The address of a file, checked: https, or anything on http where the deployment is local; no user and password in it.
 * The address itself is a secret and is never quoted.
 *
 * @param base what a redirect may be relative to.
 * @throws RunError `DownloadUrlRejected`
 */
export function checkFileUrl(address: string, local: boolean, base?: URL): URL {
  const url = URL.parse(address, base?.href);
  if (!url) throw rejected('cannot be read');
  if (url.username || url.password) throw rejected('has a user name in it');
  if (url.protocol === 'https:' || (local && url.protocol === 'http:')) return url;
  throw rejected(`begins with ${url.protocol} instead of https:`);
}

function rejected(why: string): RunError {
  return new RunError('DownloadUrlRejected', `The address of the file ${why}.`);
}
