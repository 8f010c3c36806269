// What Fastify checks requests and writes answers with, each compiled from its schema when a request first needs it: of
// about 110 a service uses a few, and to compile them all took an eighth of its start.
import AjvCompiler from '@fastify/ajv-compiler';
import SerializerSelector from '@fastify/fast-json-stringify-compiler';

const makeValidators = AjvCompiler();
const makeSerializers = SerializerSelector();

type Validate = ReturnType<ReturnType<typeof makeValidators>>;
type Serialize = ReturnType<ReturnType<typeof makeSerializers>>;

/** Fastify's `schemaController.compilersFactory`. */
export const compilersFactory = {
  buildValidator: (...given: Parameters<typeof makeValidators>) => {
    const compile = makeValidators(...given);
    return (...route: Parameters<typeof compile>): Validate => {
      let compiled: Validate | null = null;
      const validate = (data: unknown): unknown => {
        compiled ??= compile(...route);
        const isValid = compiled(data);
        // Where Fastify looks for what is wrong.
        if (isValid === false) (validate as Validate).errors = compiled.errors;
        return isValid;
      };
      return validate as Validate;
    };
  },
  buildSerializer: (...given: Parameters<typeof makeSerializers>) => {
    const compile = makeSerializers(...given);
    return (...route: Parameters<typeof compile>): Serialize => {
      let serialize: Serialize | null = null;
      return (answer) => (serialize ??= compile(...route))(answer);
    };
  },
};
