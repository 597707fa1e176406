/**
 * Acts as the browser of a person who opens the authorize address and presses Allow.
 * @returns the response of the client's callback, such as `200 You may close this page.`
 * @throws Error with the status when the sandbox shows no consent page.
 */
export async function approveConsent(authorizeUrl: string): Promise<string> {
  const page = await fetch(authorizeUrl, { redirect: 'manual' });
  const location = page.headers.get('location') ?? (await pressAllow(authorizeUrl, page));
  const callback = await fetch(location, { redirect: 'manual' });
  return `${callback.status} ${await callback.text()}`;
}

/** Submits the form of the consent page and returns the address to which the browser is sent. */
async function pressAllow(authorizeUrl: string, page: Response): Promise<string> {
  const transaction = /name="transaction" value="([^"]+)"/.exec(await page.text())?.[1];
  if (transaction === undefined) throw new Error(`The sandbox answered ${page.status} and no consent page.`);
  const answer = await fetch(new URL('/auth/authorize', authorizeUrl), {
    method: 'POST',
    body: new URLSearchParams({ transaction, decision: 'allow' }),
    redirect: 'manual',
  });
  const location = answer.headers.get('location');
  if (location === null) throw new Error(`The sandbox answered ${answer.status} to the consent and no redirect.`);
  return location;
}
