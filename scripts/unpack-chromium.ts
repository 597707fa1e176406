import chromium from '@sparticuz/chromium';

/** Runs in its own process: the package unpacks into TMPDIR, and adds libraries only in a Lambda function. */
await chromium.executablePath();
