import { boundedText, CatalogueFile } from './catalogue/catalogue-file.ts';
import { loadKnownPrices } from './catalogue/known-prices.ts';
import { OperatorPrices } from './catalogue/operator-prices.ts';
import { priceDifferences } from './catalogue/price-differences.ts';

/** The program `npm run prices:diff -- FILE [CATALOGUE]`: prints how a list of prices differs from the public ones. */

const [file, models = 'deploy/local/models.yaml'] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: npm run prices:diff -- FILE [CATALOGUE]');
const { catalogue } = await new CatalogueFile(models, process.env).load();
const prices = OperatorPrices.parse({ file, text: await boundedText(file) });
const lines = priceDifferences(prices, { catalogue, known: await loadKnownPrices(), at: new Date() });
process.stdout.write(lines.map((line) => `${line}\n`).join(''));
