import { html } from 'hono/html';

type Html = ReturnType<typeof html>;

const MEANINGS: Record<string, string> = {
  openid: 'know which user you are',
  profile: 'see your name',
  'global:export': 'export records of every kind',
  'customers:update': 'change customer records',
};

function page(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title} - Sandbox CRM</title>
    <style>
      body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem; }
      button { font: inherit; padding: 0.5rem 1.5rem; margin-inline-end: 1rem; }
    </style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      ${content}
    </main>
  </body>
</html>`;
}

/** Asks a person whether the client may have these scopes; `transaction` names the request for which it asks. */
export function consentPage(clientId: string, scopes: string[], transaction: string): Html {
  return page(
    'Allow access?',
    html`<p><strong>${clientId}</strong> asks to</p>
      <ul>${scopes.map((scope) => html`<li>${MEANINGS[scope] ?? scope} (<code>${scope}</code>)</li>`)}</ul>
      <form method="post" action="/auth/authorize">
        <input type="hidden" name="transaction" value="${transaction}" />
        <button type="submit" name="decision" value="allow">Allow</button>
        <button type="submit" name="decision" value="deny">Deny</button>
      </form>`,
  );
}

/** Tells a person why nothing can be granted, where redirecting is not safe. */
export function refusalPage(reason: string): Html {
  return page('This request cannot be granted', html`<p>${reason}</p>`);
}
