/**
 * Acts as the browser of a person who opens the authorize address and presses Allow.
 * @returns the response of the client's callback, such as `200 You may close this page.`
 */
export async function approveConsent(authorizeUrl: string): Promise<string> {
  const callback = await fetch(await answerConsent(authorizeUrl, 'allow'), { redirect: 'manual' });
  return `${callback.status} ${await callback.text()}`;
}

/**
 * Presses a button of the consent page.
 * @returns the address to which the browser is sent
 * @throws Error with the status when the sandbox shows no consent page
 */
export async function answerConsent(authorizeUrl: string, decision: 'allow' | 'deny'): Promise<URL> {
  const page = await fetch(authorizeUrl, { redirect: 'manual' });
  const refused = page.headers.get('location');
  if (refused !== null) return new URL(refused);
  const transaction = /name="transaction" value="([^"]+)"/.exec(await page.text())?.[1];
  if (transaction === undefined) throw new Error(`The sandbox answered ${page.status} without a consent page.`);
  const body = new URLSearchParams({ transaction, decision });
  const answer = await fetch(new URL('/auth/authorize', authorizeUrl), { method: 'POST', body, redirect: 'manual' });
  return new URL(answer.headers.get('location') ?? '');
}
