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
