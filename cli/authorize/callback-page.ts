import type { ServerResponse } from 'node:http';

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

/** Sentences of our own only: a page holds nothing of what the browser brought. */
export interface Page {
  status: number;
  heading: string;
  text: string;
}

/** Shows a page without styles, scripts or data: colours and sizes are those that the person chose for the browser. */
export function showPage(response: ServerResponse, { status, heading, text }: Page): void {
  response.writeHead(status, HEADERS);
  response.end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${heading} - CRM export</title>
</head>
<body>
<main>
<h1>${heading}</h1>
<p>${text}</p>
</main>
</body>
</html>
`);
}
