import re,subprocess,os
os.chdir(__import__('sys').argv[1])
files='iteration_profile.hpp iteration_profile.cpp iteration_model.hpp mpi_columns.cpp iteration_selection.cpp iteration_shares.hpp iteration_shares.cpp iteration_samples.hpp iteration_samples.cpp share_tree.hpp share_tree.cpp raking.hpp raking.cpp user_shares.hpp user_shares.cpp excluded_paths.hpp excluded_paths.cpp reconstruct.hpp loop_columns.hpp iterations.hpp iterations.cpp extra_metrics.hpp extra_metrics.cpp iteration_metrics.hpp iteration_metrics.cpp'.split()
for f in files: subprocess.check_call(['git','mv','offline/analysis/'+f,'offline/run/'+f])
tests='user_shares_test.cpp excluded_paths_test.cpp planted_shares.hpp'.split()
heads=[f[:-4] for f in files if f.endswith('.hpp')]
names='''IterationProfiles PathSelection value_of_metric value_of_callpaths error_of_callpaths known_of_callpaths IterationValue IterationMetric iteration_metrics iteration_metric_names callpath_metrics metric_of divisor_of Quantity is_untold is_by_rules for_each_iteration with_iteration overall_index SampledPath IterationSamples UserShares IterationShares ShareTree ShareVariables PathSamples SampledIterations ShareSpread RakedRow rake raked ClassSums excluded_paths ReconstructionInput reconstruct reconstruct_mean LoopColumns region_columns calls_column time_column ExtraOfIterations TakeIteration enough_samples expected_samples iteration_values'''.split()
moved=set('offline/run/'+f for f in files)
def ls(*d): return [f for f in subprocess.run(['git','ls-files',*d],capture_output=True,text=True).stdout.split() if f.endswith(('.cpp','.hpp'))]
def sort_includes(s):
    lines=s.split('\n'); out=[]; i=0
    while i<len(lines):
        if lines[i].startswith('#include "'):
            j=i
            while j<len(lines) and lines[j].startswith('#include "'): j+=1
            out+=sorted(set(lines[i:j])) if j-i>1 else lines[i:j]; i=j
        else: out.append(lines[i]); i+=1
    return '\n'.join(out)
inc=re.compile(r'offline/analysis/('+'|'.join(heads)+r')\.hpp')
qual=re.compile(r'\banalysis::('+'|'.join(names)+r')\b')
bare=re.compile(r'(?<![\w:.>"/])('+'|'.join(names)+r')\b(?!\.hpp)(?!::of_row\b)')
for f in ls('offline','tools','bench','tests'):
    if not os.path.exists(f): continue
    s=open(f).read(); o=s
    s=inc.sub(r'offline/run/\1.hpp',s)
    s=qual.sub(r'run::\1',s)
    if f in moved:
        s=s.replace('refrain::analysis','refrain::run').replace('run::','run::')
        s=re.sub(r'(?<!refrain::)\brun::(?=\w)','',s)
        s=s.replace('analysis::','')
        s=re.sub(r'\bQuantity\b','Dimension',s)
        s=s.replace('Dimension quantity = Dimension','Dimension dimension = Dimension')
    elif re.search(r'namespace refrain::analysis',s):
        # code only: not in comments' prose
        out=[]
        for line in s.split('\n'):
            code,sep,com=line.partition('//')
            if not line.startswith('#include'): code=bare.sub(r'run::\1',code)
            out.append(code+sep+com)
        s='\n'.join(out)
    s=s.replace('run::Quantity::','run::Dimension::')
    if s!=o:
        s=sort_includes(s); open(f,'w').write(s); print(f)
