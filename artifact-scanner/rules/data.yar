// Data that runs code when a library loads it. For `shown_in` see scripts.yar.
rule keras_lambda
{
    meta:
        severity = "malicious"
        message = "an HDF5 file of a Keras model with a Lambda layer: loading it runs the code within"
    strings:
        $class = /"class_name"\s*:\s*"(Lambda|__lambda__)"/
        $code = /"(function|value|config|code)"\s*:/
        $hdf5 = { 89 48 44 46 0D 0A 1A 0A }
    condition:
        $hdf5 at 0 and $class and $code
}

rule yaml_python_object
{
    meta:
        severity = "malicious"
        message = "YAML that calls Python functions when it is loaded"
        shown_in = "json"
    strings:
        $apply = /!!?python\/object\/(apply|new)\s*:\s*[A-Za-z_]/
        $tag = /tag:yaml\.org,2002:python\/object\/(apply|new)\s*:\s*[A-Za-z_]/
        $ruby = /!ruby\/(object|hash|struct)\s*:/
        $java = /!!javax?\.[A-Za-z.]{3,80}\s*\[/
    condition:
        any of them
}

rule jsonpickle_call
{
    meta:
        severity = "malicious"
        message = "JSON that calls Python functions when jsonpickle loads it"
        shown_in = "code"
    strings:
        $reduce = /"py\/(reduce|repr|newargsex)"\s*:/
        $call = /"py\/(function|type)"\s*:\s*"(os|posix|nt|subprocess|builtins|sys|commands)\./
    condition:
        any of them
}

rule ldap_or_template_injection
{
    meta:
        severity = "suspicious"
        message = "text that makes loggers fetch and run code"
        shown_in = "code"
    strings:
        $jndi = /\$\{\s*(jndi|\$\{[^}]{1,20}\}[^}]{0,20})\s*:\s*(ldaps?|rmi|dns|iiop):/ nocase
    condition:
        $jndi
}

rule tensorflow_acts
{
    meta:
        severity = "suspicious"
        message = "a model of TensorFlow that reads or writes files, or calls Python, when it is used"
    strings:
        // The kind of a step, with its length before it in each of the ways that a reader takes.
        $read_a = { 12 08 52 65 61 64 46 69 6C 65 }
        $read_b = { 12 88 00 52 65 61 64 46 69 6C 65 }
        $read_c = { 12 88 80 00 52 65 61 64 46 69 6C 65 }
        $write_a = { 12 09 57 72 69 74 65 46 69 6C 65 }
        $write_b = { 12 89 00 57 72 69 74 65 46 69 6C 65 }
        $write_c = { 12 89 80 00 57 72 69 74 65 46 69 6C 65 }
        $call_a = { 12 06 50 79 46 75 6E 63 }
        $call_b = { 12 86 00 50 79 46 75 6E 63 }
        $call_c = { 12 86 80 00 50 79 46 75 6E 63 }
        $stateless_a = { 12 0F 50 79 46 75 6E 63 53 74 61 74 65 6C 65 73 73 }
        $stateless_b = { 12 8F 00 50 79 46 75 6E 63 53 74 61 74 65 6C 65 73 73 }
        $stateless_c = { 12 8F 80 00 50 79 46 75 6E 63 53 74 61 74 65 6C 65 73 73 }
        $eager_a = { 12 0B 45 61 67 65 72 50 79 46 75 6E 63 }
        $eager_b = { 12 8B 00 45 61 67 65 72 50 79 46 75 6E 63 }
        $eager_c = { 12 8B 80 00 45 61 67 65 72 50 79 46 75 6E 63 }
    condition:
        any of them
}
