import { span } from './time.ts';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function count(value: number): string {
  return value >= 1_000_000 ? short.format(value) : whole.format(value);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Of a rate: small ones keep two digits. */
export function rate(value: number): string {
  return value < 10 ? String(Number(value.toPrecision(2))) : count(value);
}

/** 0.99957 is 99.95 %, never 100: a failure must not be rounded away. */
export function percent(share: number): string {
  if (share === 0 || share === 1) return `${share * 100} %`;
  const floored = Math.floor(share * 10_000) / 100;
  return `${floored >= 99 || floored < 1 ? floored.toFixed(2) : floored.toFixed(1)} %`;
}

/** Of a figure in seconds, which may be next to nothing. */
export function seconds(value: number): string {
  return value < 0.001 ? '< 1 ms' : span(value * 1_000);
}
