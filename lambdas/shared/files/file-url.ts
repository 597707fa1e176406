import { RunError } from '../errors.ts';

/**
 * The address of a file, checked: https, or anything on http where the deployment is local; no user and password in it.
 * The address itself is a secret and is never quoted.
 * @throws RunError `DownloadUrlRejected`
 */
export function checkFileUrl(address: string | URL, local: boolean): URL {
  const url = new URL(address);
  if (url.username || url.password) throw rejected('has a user name in it');
  if (url.protocol === 'https:' || (local && url.protocol === 'http:')) return url;
  throw rejected(`begins with ${url.protocol} instead of https:`);
}

function rejected(why: string): RunError {
  return new RunError('DownloadUrlRejected', `The address of the file ${why}.`);
}
