import { testReadingPastParser, transfersByWire } from '../support/past-parser.ts';

testReadingPastParser(await transfersByWire(), 1500);
