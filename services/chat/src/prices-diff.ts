import { boundedText, CatalogueFile } from './catalogue/catalogue-file.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import { fieldOf, startsOf, statedAt } from './catalogue/catalogue-price.ts';
import { loadKnownPrices, type KnownList, type KnownPrices } from './catalogue/known-prices.ts';
import { OperatorPrices, type StatedPrice } from './catalogue/operator-prices.ts';
import { rateDecimals, type StatedRates } from './catalogue/price.ts';
import type { TokenClass } from '@gatehouse/dialects/usage/usage';

/** The program `npm run prices:diff -- FILE [CATALOGUE]`: prints how a list of prices differs from the public ones. */

const [file, models = 'deploy/local/models.yaml'] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: npm run prices:diff -- FILE [CATALOGUE]');
const { catalogue } = await new CatalogueFile(models, process.env).load();
const prices = OperatorPrices.parse({ file, text: await boundedText(file) });
const lines = priceDifferences(prices, { catalogue, known: await loadKnownPrices(), at: new Date() });
process.stdout.write(lines.map((line) => `${line}\n`).join(''));

/** Lines with the differences of an operator's list to the public ones, in the order of the file. */
function priceDifferences(
  prices: OperatorPrices,
  { catalogue, known, at }: { catalogue: Pick<Catalogue, 'providers'>; known: KnownPrices; at: Date },
): string[] {
  const addresses = new Map(catalogue.providers.map(({ name, base_url: url }) => [name, url]));
  return prices.entries.flatMap(({ provider, model, price }) => {
    const address = addresses.get(provider);
    if (address === undefined) return [`${provider} ${model}: the catalogue has no provider ${provider}`];
    const list = known.find(address, model, at);
    if (list === null) return [`${provider} ${model}: the public lists have no price`];
    return changesOf(price, list).map((change) => `${provider} ${model}: ${change}`);
  });
}

function changesOf(price: StatedPrice, list: KnownList): string[] {
  const starts = [...new Set([0, ...startsOf(price), ...list.starts])].sort((a, b) => a - b);
  return starts.flatMap((start) => {
    const [stated, known] = [statedAt(price, start + 1), list.statedAt(start + 1)];
    const where = start === 0 ? '' : ` above ${start} input tokens`;
    return (Object.keys(fieldOf) as TokenClass[])
      .filter((name) => stated[name] !== known[name])
      .map((name) => `${fieldOf[name]}${where} ${usdOf(known, name)} -> ${usdOf(stated, name)}`);
  });
}

/** USD per million tokens. */
function usdOf(rates: StatedRates, name: TokenClass): string {
  const rate = rates[name];
  if (rate === undefined) return 'none';
  const digits = rate.toString().padStart(rateDecimals + 1, '0');
  const fraction = digits.slice(-rateDecimals).replace(/0+$/, '');
  return digits.slice(0, -rateDecimals) + (fraction === '' ? '' : `.${fraction}`);
}
